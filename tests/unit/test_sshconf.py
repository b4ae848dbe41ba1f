"""sshd_config, ssh_config and known_hosts are right for each OpenSSH, and cannot be injected into."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan import sshconf
from mpiboot.plan.layout import Place
from mpiboot.plan.sshconf import ServerTerms

TERMS = ServerTerms(
    port=2222,
    user="mpi",
    host_keys=("/run/m/host_key",),
    authorized_keys="/run/m/authorized_keys",
    environment={},
    bridge=("/p/python", "-I", "-S", "/p/bridge.py", "/run/m/agent.sock"),
    log_level="VERBOSE",
    openssh=(9, 2),
    use_pam=False,
    strict_modes=True,
)
W1 = Place(name="w1", node="w1", slots=1, address="10.0.0.1", port=2200, user="u", why="")


def words(text: str) -> dict[str, str]:
    return dict(line.strip().split(" ", 1) for line in text.splitlines())


def test_keys_only_one_user_nothing_forwarded() -> None:
    """What a job needs is on, all else is off."""
    got = words(sshconf.sshd_config(TERMS))
    assert got["Port"] == "2222"
    assert got["AllowUsers"] == "mpi"
    assert got["AuthenticationMethods"] == "publickey"
    for name in ("PasswordAuthentication", "PermitTTY", "PermitUserRC", "UseDNS", "UsePAM"):
        assert got[name] == "no"
    assert got["DisableForwarding"] == "yes"
    assert got["StrictModes"] == "yes"
    assert int(got["MaxStartups"].split(":")[0]) >= 100


def test_words_that_only_newer_sshds_know() -> None:
    """An unknown keyword ends an older sshd; a newer one must not ban the job's own hosts."""
    assert "PerSourcePenalties" not in sshconf.sshd_config(TERMS)
    assert "PerSourcePenalties no" in sshconf.sshd_config(replace(TERMS, openssh=(9, 8)))
    assert "mlkem" not in sshconf.sshd_config(replace(TERMS, openssh=(9, 8)))
    assert "mlkem768x25519-sha256" in sshconf.sshd_config(replace(TERMS, openssh=(10, 0)))


def test_one_setenv_line() -> None:
    """A second SetEnv line is ignored, so all stand in one; SHLVL keeps bash from its rc file."""
    text = sshconf.sshd_config(replace(TERMS, environment={"B": 'x "y" \\z', "A": "1 2"}))
    (line,) = [line for line in text.splitlines() if line.startswith("SetEnv")]

    assert line == 'SetEnv "A=1 2" "B=x \\"y\\" \\\\z" "SHLVL=1"'


def test_ssh_config_pins_each_place() -> None:
    """Each node has the address that answered; the rest is for all, and never asks anybody."""
    text = sshconf.ssh_config([W1], user="mpi", port=22, identity="/k", known_hosts="/h")
    first, _, common = text.partition("Host *\n")
    assert first == "Host w1\n  HostName 10.0.0.1\n  Port 2200\n  HostKeyAlias w1\n  User u\n"
    got = words(common)
    assert got["User"] == "mpi"
    assert got["IdentityFile"] == '"/k"'
    assert got["IdentitiesOnly"] == got["BatchMode"] == got["StrictHostKeyChecking"] == "yes"
    assert got["UserKnownHostsFile"] == '"/h"'


def test_this_container_needs_no_ssh() -> None:
    """A place without an address has no block."""
    here = replace(W1, address="")
    text = sshconf.ssh_config([here], user="mpi", port=22, identity="/k", known_hosts="/h")
    assert text.startswith("Host *\n")


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"), max_size=40),
        min_size=1,
        max_size=5,
    )
)
def test_no_value_can_add_a_line(env: dict[str, str]) -> None:
    """A variable's value stays inside its quotes, whatever it holds."""
    text = sshconf.sshd_config(replace(TERMS, environment=env))
    assert len(text.split("\n")) == len(sshconf.sshd_config(TERMS).split("\n"))
    (line,) = [line for line in text.split("\n") if line.startswith("SetEnv ")]
    wanted = sorted({**env, "SHLVL": "1"}.items())
    assert _split(line.removeprefix("SetEnv ")) == [f"{k}={v}" for k, v in wanted]


def _split(text: str) -> list[str]:
    """Split double-quoted words as OpenSSH's argv_split does: a backslash escapes quote and itself."""
    found, rest = [], text
    while rest:
        assert rest[0] == '"'
        word, at = "", 1
        while rest[at] != '"':
            at += rest[at] == "\\" and rest[at + 1] in '"\\'
            word += rest[at]
            at += 1
        found.append(word)
        rest = rest[at + 1 :].lstrip(" ")
    return found
