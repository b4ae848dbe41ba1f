"""What reaches the ranks: the worker's own environment, whole and unharmed, and no secret."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

from mpiboot.local.cluster import Bind
from mpiboot.local.spec import BASE_ENVIRONMENT
from tests.helpers.agents import PYTHON, Agent, Agents, program

SHOW_ENV = program("showenv.py")
RING = program("ring.py")
PATH = BASE_ENVIRONMENT["PATH"]
MPI_PROGRAMS = ("orte", "mpirun", "mpiexec")


def ranks_environments(agents: Agents, *options: str, **spec: Any) -> dict[str, dict[str, str]]:
    """Run one rank on each worker and return their environments: hostname → name → value."""
    with tempfile.TemporaryDirectory() as directory:
        launcher = agents.launcher(*SHOW_ENV, directory, options=options, **spec)
        assert launcher.wait() == 0
        agents.assert_global()
        texts = {path.name: path.read_text() for path in Path(directory).iterdir()}
    return {host: _decoded(json.loads(text)) for host, text in texts.items()}


def _decoded(values: dict[str, str]) -> dict[str, str]:
    return {name: base64.b64decode(text).decode() for name, text in values.items()}


def test_env_01_the_containers_environment_reaches_ranks(agents: Agents) -> None:
    """A rank has its own container's variables and PATH, and those that the launcher exports."""
    own = {"FOO": "bar", "PATH": f"/opt/x/bin:{PATH}"}
    agents.worker("w1", env=own)
    agents.worker("w2")
    found = ranks_environments(agents, "-x", "BAZ", env={"BAZ": "1"})
    assert found["w1"]["FOO"] == "bar"
    assert found["w1"]["PATH"].startswith("/opt/x/bin:")
    assert "FOO" not in found["w2"]
    assert found["w2"]["PATH"] == PATH
    assert [found[host]["BAZ"] for host in ("w1", "w2")] == ["1", "1"]


def test_env_01_the_launchers_export_wins(agents: Agents) -> None:
    """What the launcher exports by name or value replaces what the worker has of the same name."""
    agents.worker("w1", env={"FOO": "worker", "BAR": "worker", "PATH": f"/opt/x/bin:{PATH}"})
    options = ("-x", "FOO", "-x", "BAR=given", "-x", "PATH")
    found = ranks_environments(agents, *options, env={"FOO": "launcher"})
    assert (found["w1"]["FOO"], found["w1"]["BAR"]) == ("launcher", "given")
    assert found["w1"]["PATH"] == PATH


def without_mpi(directory: Path) -> tuple[Bind, Bind]:
    """Lay out a pod whose /usr/bin has everything but MPI's programs."""
    made, kept = directory / "bin", "/run/bin-of-the-machine"
    made.mkdir()
    for entry in Path("/usr/bin").iterdir():
        if not entry.name.startswith(MPI_PROGRAMS):
            (made / entry.name).symlink_to(f"{kept}/{entry.name}")
    return Bind(source="/usr/bin", target=kept), Bind(source=str(made), target="/usr/bin")


def moved_mpi(directory: Path) -> dict[str, Any]:
    """Lay out a pod whose MPI stands in /opt/ompi, which only the container's own PATH names."""
    home = directory / "ompi" / "bin"
    home.mkdir(parents=True)
    for name in ("orted", "orterun"):
        shutil.copy2(f"/usr/bin/{name}", home)
    (home / "mpirun").symlink_to("orterun")
    prefix = Bind(source=str(home.parent), target="/opt/ompi")
    return {
        "env": {"PATH": f"/opt/ompi/bin:{PATH}"},
        "tmpfs": ("/opt",),
        "binds": (*without_mpi(directory), prefix),
    }


def assert_ring(agents: Agents, launcher: Agent, *hosts: str) -> None:
    assert launcher.wait() == 0
    expected = [f"OK {rank}/{len(hosts)} {host}" for rank, host in enumerate(hosts)]
    assert sorted(launcher.out.decode().splitlines()) == expected
    agents.assert_global()


def test_env_02_mpi_under_another_prefix(agents: Agents, tmp_path: Path) -> None:
    """MPI in /opt/ompi on all sides, with PATH in the containers' environment only."""
    pod = moved_mpi(tmp_path)
    worker = agents.worker("w1", **pod)
    assert worker.pod.exec(["orted", "--version"], env={"PATH": PATH}).returncode == 127
    assert_ring(agents, agents.launcher(*RING, **pod), "w1")


def test_env_02_mpi_under_a_prefix_of_the_worker(agents: Agents, tmp_path: Path) -> None:
    """The launcher has MPI in /usr; one worker has it elsewhere and is found by its own PATH."""
    agents.worker("w1", **moved_mpi(tmp_path))
    agents.worker("w2")
    assert_ring(agents, agents.launcher(*RING), "w1", "w2")


def test_env_02_no_daemon_at_all_is_named(agents: Agents, tmp_path: Path) -> None:
    """A worker without an MPI ends the launch with 78, and tells what to install."""
    agents.worker("w1", binds=without_mpi(tmp_path))
    launcher = agents.launcher(*RING)
    assert launcher.wait() == 78
    assert "w1 has no mpirun on its PATH" in launcher.log
    assert "install openmpi-bin" in launcher.log
    agents.assert_global()


def test_env_03_libraries_of_the_daemon(agents: Agents, tmp_path: Path) -> None:
    """The daemon's libraries are found where only the container's LD_LIBRARY_PATH leads to."""
    library = Path("/usr/lib/x86_64-linux-gnu/libopen-rte.so.40").resolve()
    away, empty = tmp_path / "l", tmp_path / "empty"
    away.mkdir()
    shutil.copy2(library, away / "libopen-rte.so.40")
    empty.touch()
    worker = agents.worker(
        "w1",
        env={"LD_LIBRARY_PATH": "/opt/l"},
        tmpfs=("/opt",),
        binds=(
            Bind(source=str(away), target="/opt/l"),
            Bind(source=str(empty), target=str(library)),
        ),
    )
    done = worker.pod.exec(["orted", "--version"], env={"LD_LIBRARY_PATH": ""})
    assert done.returncode == 127
    assert "error while loading shared libraries" in done.stderr
    assert_ring(agents, agents.launcher(*RING), "w1")


NASTY = {
    "QUOTES": """a "b" 'c' ''""",
    "SHELL_WORDS": "$HOME `id` $(id) ;id; &id |id >id <id *?[a] ~ !",
    "BACKSLASHES": r"\ \n \\ ends with one\\"[:-1],
    "BLANKS": "  two before, a tab\t, two after  ",
    "COMMENT": "#no comment # here",
    "EQUALS": "x=y=z",
    "QUOTE": '"',
    "APOSTROPHE": "'",
    "UTF8": "ü → 日本 🙂",
    "COMMAS": "a,b;c:d%h%u%%",
    "EMPTY": "",
    "LONG": "x" * 100_000,
}


def test_env_values_arrive_byte_for_byte(agents: Agents) -> None:
    """Quotes, backslashes, dollars, semicolons, blanks, UTF-8, 100 kB, 800 more: nothing is lost."""
    many = {f"VARIABLE_{number}": f"value {number}" for number in range(800)}
    agents.worker("w1", env={**NASTY, **many})
    found = ranks_environments(agents)["w1"]
    assert {name: found.get(name) for name in NASTY} == NASTY
    assert {name: found.get(name) for name in many} == many


def service_links(count: int) -> dict[str, str]:
    """What Kubernetes puts into every pod for each Service of the namespace."""
    links: dict[str, str] = {}
    for number in range(count):
        name, host = f"SVC_{number}", f"10.96.0.{number % 256}"
        links |= {f"{name}_SERVICE_HOST": host, f"{name}_SERVICE_PORT": "80"}
        links |= {f"{name}_PORT": f"tcp://{host}:80", f"{name}_PORT_80_TCP": f"tcp://{host}:80"}
        links |= {f"{name}_PORT_80_TCP_PROTO": "tcp", f"{name}_PORT_80_TCP_PORT": "80"}
        links[f"{name}_PORT_80_TCP_ADDR"] = host
    return links


def test_env_more_variables_than_sshd_can_carry(agents: Agents) -> None:
    """In a namespace of 200 Services a worker works; what the user set arrives, the links do not."""
    own = {"MASTER_PORT": "1234", "ZZZ": "last"}
    worker = agents.worker("w1", env={**service_links(200), **own})
    found = ranks_environments(agents)["w1"]
    assert {name: found.get(name) for name in own} == own
    assert [name for name in found if name.startswith("SVC_")] == []
    told = next(line for line in worker.log.splitlines() if "not given to SSH sessions" in line)
    assert "SVC_0_PORT" in told
    assert len(told) < 1000


SECRETS = {
    "TOKEN": "s3cret-1",
    "DB_PASSWORD": "s3cret-2",
    "AWS_SECRET_ACCESS_KEY": "s3cret-3",
    "ALLOWED_PASSWORD": "s3cret-4",
}


def test_env_secrets_stay_where_they_are(agents: Agents) -> None:
    """What is called a secret reaches no session unless allowed; nor do mpiboot's own variables."""
    worker = agents.worker("w1", "--session-env-allow", "ALLOWED_*", env={**SECRETS, "USEFUL": "1"})
    worker.until_ready()
    directory = worker.pod.root / "run/mpiboot/worker"
    config = directory / "sshd_config"
    text = config.read_text()
    assert config.stat().st_mode & 0o077 == 0
    assert directory.stat().st_mode & 0o077 == 0
    found = ranks_environments(agents)["w1"]
    assert found["USEFUL"] == "1"
    assert found["ALLOWED_PASSWORD"] == "s3cret-4"
    left_out = set(SECRETS) - {"ALLOWED_PASSWORD"}
    assert left_out.isdisjoint(found)
    assert [name for name in found if name.startswith("MPIBOOT_")] == ["MPIBOOT_ATTEMPT"]
    for name in left_out:
        assert SECRETS[name] not in text
        assert name in worker.log  # told by name, so that nobody searches for long
    assert not any(value in agent.log for value in SECRETS.values() for agent in agents.all)


def test_env_denied_variables_stay_out(agents: Agents) -> None:
    """Variables can be kept from sessions, by name or by glob."""
    deny = ("--session-env-deny", "USEFUL", "--session-env-deny", "GLOB*")
    agents.worker("w1", *deny, env={"USEFUL": "1", "GLOBAL": "1", "OTHER": "1"})
    found = ranks_environments(agents)["w1"]
    assert {"USEFUL", "GLOBAL"}.isdisjoint(found)
    assert found["OTHER"] == "1"


def test_env_reaches_plain_commands_too(agents: Agents) -> None:
    """Any session that a worker serves has its environment, not only MPI's ranks."""
    worker = agents.worker("w1", env={"FOO": "bar"})
    worker.until_ready()
    ssh = ["ssh", "-F", "/run/mpiboot/worker/loopback_config", "loopback", PYTHON, "-c"]
    done = worker.pod.exec([*ssh, "'import os; print(os.environ[\"FOO\"])'"])
    assert done.stdout == "bar\n"
    launcher = agents.launcher("true")
    assert launcher.wait() == 0
    agents.assert_global()


def test_boot_11_rc_files_do_not_touch_sessions(agents: Agents, tmp_path: Path) -> None:
    """A .bashrc that prints and ends the shell is not read: bash would read it for every session."""
    rc = tmp_path / "rc"
    rc.write_text("echo noise\necho noise >&2\nexit 0\n")
    agents.worker("w1", binds=(Bind(source=str(rc), target="/root/.bashrc"),))

    launcher = agents.launcher("hostname")

    assert launcher.wait() == 0
    assert launcher.out == b"w1\n"
    assert "noise" not in launcher.log
    agents.assert_global()
