"""Which variables reach sessions and ranks, and which stay."""

from __future__ import annotations

import pytest

from mpiboot.model.facts import Facts
from mpiboot.plan import passenv


def session(env: dict[str, str], **words: tuple[str, ...]) -> tuple[dict[str, str], list[str]]:
    return passenv.session_environment(
        env, allow=words.get("allow", ()), deny=words.get("deny", ())
    )


def test_the_containers_own_environment_reaches_its_sessions() -> None:
    """PATH above all, and what the image and the pod set."""
    env = {"PATH": "/opt/x/bin:/bin", "FOO": "bar", "HOME": "/home/j", "EMPTY": "", "Q": 'a "b" $c'}
    assert session(env) == (env, [])


@pytest.mark.parametrize(
    "name",
    ["TOKEN", "HF_TOKEN", "DB_PASSWORD", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "my_api_key",
     "GOOGLE_CREDENTIALS", "SSL_PRIVATE_KEY", "REGISTRY_AUTH"],
)  # fmt: skip
def test_secrets_stay_unless_allowed(name: str) -> None:
    """A name that speaks of a secret is left out and named; an allow rule lets it through."""
    assert session({name: "x"}) == ({}, [name])
    assert session({name: "x"}, allow=(name,)) == ({name: "x"}, [])


@pytest.mark.parametrize(
    "name",
    ["MPIBOOT_ROLE", "SSH_CLIENT", "SHLVL", "PWD", "_", "BASH_FUNC_x%%", "OMPI_COMM_WORLD_RANK"],
)
def test_what_belongs_to_a_session_or_the_agent_stays(name: str) -> None:
    """Sshd and shells make these anew; the agent's own are nobody's business."""
    assert session({name: "x"}) == ({}, [])


def test_deny_wins() -> None:
    """The user's deny rule is stronger than all."""
    assert session({"FOO": "1", "TOKEN": "1"}, allow=("*",), deny=("FOO", "TOK*")) == ({}, [])


def test_values_that_are_no_single_line_are_left_out_by_name() -> None:
    """SetEnv cannot carry them, and nothing is lost silently."""
    assert session({"A": "1\n2", "B": "ok"}) == ({"B": "ok"}, ["A"])


def exported(
    wanted: tuple[str, ...], env: dict[str, str], *facts: Facts | None
) -> dict[str, str | None]:
    return {one.name: one.value for one in passenv.exports(wanted, env, facts or (None,))}


def test_horovods_exports() -> None:
    """NCCL_DEBUG=INFO, and the search paths where they are set."""
    assert exported((), {}) == {"NCCL_DEBUG": "INFO", "PYTHONUNBUFFERED": "1"}
    env = {"PATH": "/bin", "LD_LIBRARY_PATH": "/l", "NCCL_DEBUG": "WARN"}
    assert exported((), env) == {
        "NCCL_DEBUG": None,
        "PATH": None,
        "LD_LIBRARY_PATH": None,
        "PYTHONUNBUFFERED": "1",
    }


def test_the_users_word_replaces_a_default() -> None:
    """A variable is never given twice, and one that is not set is not given at all."""
    got = exported(("NCCL_DEBUG=TRACE", "FOO", "BAR", "PYTHONUNBUFFERED="), {"FOO": "1"})
    assert got == {"NCCL_DEBUG": "TRACE", "FOO": None, "PYTHONUNBUFFERED": ""}


def test_a_workers_own_path_stays() -> None:
    """Where an agent serves another PATH, the launcher's is not forced on it, unless asked."""
    env = {"PATH": "/bin"}
    same, other = Facts(path="/bin"), Facts(path="/opt/x/bin:/bin")
    assert "PATH" in exported((), env, same)
    assert "PATH" not in exported((), env, same, other)
    assert "PATH" in exported(("PATH",), env, other)
    assert passenv.kept_paths(env, [other, None]) == ["PATH"]
