"""Agents for tests: mpiboot workers and launchers as PID 1 of pods, with their output in files.

The fixture `agents` is there for all tests:

    def test_x(agents):
        agents.workers(2)                              # w1 and w2, ready or not
        launcher = agents.launcher("hostname")         # --hosts w1:1,w2:1 --slots 1 -- hostname
        assert launcher.wait() == 0
        agents.assert_global()                         # the global assertions of every case
"""

from __future__ import annotations

import json
import pwd
import secrets
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mpiboot.local.cluster import Bind, Cluster, Pod, PodSpec
from mpiboot.local.command import TMP_IN_POD
from mpiboot.local.keeper import Stream
from mpiboot.runtime import latch
from tests.helpers import schema
from tests.helpers.eventually import eventually

MPIBOOT = (sys.executable, "-I", "-m", "mpiboot")
PROGRAMS = Path(__file__).with_name("programs")
PYTHON = "/usr/bin/python3"  # the one that has mpi4py
# An empty home: rc files of this machine would take part in every session (and may wait for locks).
HOME = "/root:mode=755"
NEEDED = (
    Path(__file__).parents[2],
    Path(sys.prefix),
    Path(sys.base_prefix),
)  # what agents are made of
SECRET_IN_POD = "/run/secrets/mpiboot"  # a path
GONE_S = 30.0  # after the launcher's end everybody has gone within this time
JOB_NAMES = ("mpirun", "orterun", "orted", "prted", "mpiexec", "hydra")
RANK_MARK = b"OMPI_COMM_WORLD_RANK="  # in the environment of a rank and of what it starts


@dataclass(frozen=True, kw_only=True)
class Agent:
    """A pod with a program as PID 1 whose output goes to files.

    Attributes:
        pod: its pod: `send`, `kill`, `cut`, `exec`, `processes`.
        out_path: file with its stdout.
        log_path: file with its stderr.
        status_path: file with its status JSON (mpiboot roles that run as root only).
    """

    pod: Pod
    out_path: Path
    log_path: Path
    status_path: Path

    @property
    def name(self) -> str:
        return self.pod.name

    @property
    def out(self) -> bytes:
        """What it has written to stdout so far."""
        return self.out_path.read_bytes()

    @property
    def log(self) -> str:
        """What it has written to stderr so far."""
        return self.log_path.read_text(errors="replace")

    @property
    def status(self) -> dict[str, Any]:
        """Its status file, whole; stays after its end."""
        document: dict[str, Any] = json.loads(self.status_path.read_text())
        return document

    def wait(self, timeout_s: float = 30.0) -> int:
        """Wait for the pod's end; return its exit code, 128 + n for signal n."""
        try:
            return self.pod.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"{self.name} still runs after {timeout_s} s") from None

    def until_logged(self, text: str, timeout_s: float = 15.0) -> None:
        """Wait until its stderr contains a text."""

        def check() -> None:
            ended = self.pod.poll()  # before the log is read: the dead say nothing more
            found = text in self.log
            if ended is not None and not found:
                raise RuntimeError(f"{self.name} ended with {ended} and never said {text!r}")
            assert found, f"{self.name} has not said {text!r}"

        eventually(check, timeout_s)

    def until_ready(self, timeout_s: float = 15.0) -> None:
        """Wait until a worker says that it is ready."""
        self.until_logged("ready on port", timeout_s)

    def until_stage(self, stage: str, timeout_s: float = 15.0) -> None:
        """Wait until its status file names a stage, one of model.outcome.Stage."""

        def check() -> None:
            assert self.status_path.exists()
            assert self.status["stage"] == stage

        eventually(check, timeout_s)

    def job_processes(self) -> list[str]:
        """Name what a job has left in the pod: MPI's programs, ranks and their children, zombies."""
        return [
            f"{self.name}: {process.pid} {process.comm} ({process.state})"
            for process in self.pod.processes()
            if process.state == "Z"
            or process.comm.startswith(JOB_NAMES)
            or RANK_MARK in _environ(self.pod, process.pid)
        ]


class Agents:
    """The agents of one test.

    Args:
        cluster: where their pods are made.
        directory: where their output goes.
    """

    def __init__(self, cluster: Cluster, directory: Path) -> None:
        self._cluster = cluster
        self._directory = directory
        self.secret_path = cluster.directory / "secret"
        self.secret_path.write_text(secrets.token_hex(16))
        self.secret_path.chmod(0o600)
        self.all: list[Agent] = []
        self._hidden = _hide_bashrc(cluster.directory)

    @property
    def cluster(self) -> Cluster:
        """Where the pods are made."""
        return self._cluster

    def start(self, name: str, argv: Sequence[str], *, stdin: Stream = None, **spec: Any) -> Agent:
        """Start any program as PID 1 of a pod, with an empty home and a $TMPDIR of its own.

        Args:
            name: of the pod.
            argv: the program.
            stdin: as for Popen; /dev/null by default.
            spec: further fields of PodSpec: env, binds, tmpfs, aliases, listed, uid, blocked, …
        """
        number = len(self.all)  # a pod's name may come twice, its files may not
        spec["tmpfs"] = (HOME, f"{TMP_IN_POD}:mode=1777", *spec.get("tmpfs", ()))
        spec["env"] = {"TMPDIR": TMP_IN_POD, **spec.get("env", {})}
        spec["binds"] = (*_needed_below(spec["tmpfs"]), *spec.get("binds", ()))
        out, log, status = (
            self._directory / f"{name}-{number}.{kind}" for kind in ("out", "log", "status.json")
        )
        with out.open("wb") as stdout, log.open("wb") as stderr:
            pod = self._cluster.start(
                PodSpec(name=name, argv=tuple(argv), **spec),
                stdin=subprocess.DEVNULL if stdin is None else stdin,
                stdout=stdout,
                stderr=stderr,
            )
        agent = Agent(pod=pod, out_path=out, log_path=log, status_path=status)
        self.all.append(agent)
        return agent

    def mpiboot(
        self, name: str, argv: Sequence[str], *, agent: Sequence[str] = MPIBOOT, **spec: Any
    ) -> Agent:
        """Start `mpiboot ARGV` with the job's secret, its signals blocked as the images do it.

        `env` is added to MPIBOOT_SECRET_FILE, HOSTNAME and MPIBOOT_STATUS_FILE; give None as a
        value to leave one of them out. `agent` is how mpiboot itself is called.
        """
        own: dict[str, str | None] = {
            "MPIBOOT_SECRET_FILE": SECRET_IN_POD,
            "HOSTNAME": name,
        }
        if spec.get("uid") is None:
            own["MPIBOOT_STATUS_FILE"] = str(
                self._directory / f"{name}-{len(self.all)}.status.json"
            )
        given: Mapping[str, str | None] = spec.pop("env", {})
        env = {key: value for key, value in {**own, **given}.items() if value is not None}
        secret = Bind(source=str(self.secret_path), target=SECRET_IN_POD, read_only=True)
        spec["binds"] = (secret, *self._hidden, *spec.get("binds", ()))
        spec.setdefault("blocked", latch.CAUGHT)
        return self.start(name, [*agent, *argv], env=env, **spec)

    def worker(self, name: str, *options: str, **spec: Any) -> Agent:
        """Start `mpiboot worker OPTIONS` in a pod of that name; `spec` as for `mpiboot`."""
        return self.mpiboot(name, ["worker", *options], **spec)

    def workers(self, count: int, *options: str, **spec: Any) -> list[Agent]:
        """Start workers w1 to w(count)."""
        return [self.worker(f"w{number}", *options, **spec) for number in range(1, count + 1)]

    def launcher(
        self,
        *command: str,
        hosts: str | None = None,
        options: Sequence[str] = (),
        name: str = "launcher",
        **spec: Any,
    ) -> Agent:
        """Start `mpiboot launcher --hosts HOSTS OPTIONS -- COMMAND`.

        Args:
            command: the job; nothing: no `--` either.
            hosts: as for --hosts; None: all pods started so far, one slot each; empty: no --hosts.
            options: of the launcher.
            name: of the pod.
            spec: as for `mpiboot`.
        """
        if hosts is None:
            hosts = ",".join(f"{name}:1" for name in dict.fromkeys(a.name for a in self.all))
        words = ["launcher", *(["--hosts", hosts] if hosts else []), *options]
        return self.mpiboot(name, [*words, *(["--", *command] if command else [])], **spec)

    def job(self, *command: str, workers: int = 1, **launcher: Any) -> Agent:
        """Start workers and a launcher, wait for the launcher's end, check the global assertions."""
        self.workers(workers)
        started = self.launcher(*command, **launcher)
        started.wait(60.0)
        self.assert_global()
        return started

    def assert_global(self, *, stay: Sequence[Agent] = (), raising: Sequence[Agent] = ()) -> None:
        """Assert what holds in every case; call when the launcher has ended.

        Within 30 s all agents have ended, nothing of a job and no zombie is left in any pod, no log
        holds a traceback, and every status file keeps to its schema.

        Args:
            stay: agents that are meant to live on: they are checked alive, and for left-overs.
            raising: launchers whose job prints a traceback of its own.
        """
        deadline = time.monotonic() + GONE_S
        for agent in self.all:
            if agent not in stay:
                agent.wait(max(0.0, deadline - time.monotonic()))
        for agent in stay:
            assert agent.pod.poll() is None, f"{agent.name} should have stayed:\n{agent.log}"
        eventually(self._assert_nothing_left, max(1.0, deadline - time.monotonic()))
        for agent in self.all:
            assert agent in raising or "Traceback" not in agent.log, agent.log
            if agent.status_path.is_file():
                assert schema.problems(agent.status) == [], agent.name

    def codes(self) -> dict[str, int | None]:
        """Map each pod to its exit code so far; a name that came twice to its last one."""
        return {agent.name: agent.pod.poll() for agent in self.all}

    def _assert_nothing_left(self) -> None:
        left = [line for agent in self.all for line in agent.job_processes()]
        assert left == []


@pytest.fixture
def agents(cluster: Cluster, tmp_path: Path) -> Iterator[Agents]:
    """Agents in a cluster of their own; shows all logs where a test fails."""
    made = Agents(cluster, tmp_path)
    yield made
    for agent in made.all:
        code = agent.pod.poll()
        argv = shlex.join(agent.pod.spec.argv)
        print(f"--- {agent.name} ({'runs' if code is None else code}): {argv}\n{agent.log}")  # noqa: T201


def _needed_below(tmpfs: Sequence[str]) -> list[Bind]:
    """Show again what lies below a place that a tmpfs covers: this repository may be in a home."""
    covered = [target.partition(":")[0] for target in tmpfs]
    return [
        Bind(source=str(path), target=str(path))
        for path in dict.fromkeys(NEEDED)
        if any(path.is_relative_to(place) for place in covered)
    ]


def program(name: str, *words: str) -> tuple[str, ...]:
    """Return the command line of a program in tests/helpers/programs, run by PYTHON."""
    return (PYTHON, "-u", str(PROGRAMS / name), *words)


def slow_ssh(directory: Path, seconds: int) -> str:
    """Lay an ssh that waits before it does anything; return the PATH that finds it first."""
    place = directory / "bin"
    place.mkdir()
    (place / "ssh").write_text(f'#!/bin/sh\nsleep {seconds}\nexec /usr/bin/ssh "$@"\n')
    (place / "ssh").chmod(0o755)
    return f"{place}:/usr/sbin:/usr/bin:/sbin:/bin"


def _hide_bashrc(directory: Path) -> tuple[Bind, ...]:
    """Cover root's .bashrc, which every ssh session reads: this machine's is not the images'."""
    path = Path(pwd.getpwuid(0).pw_dir) / ".bashrc"
    if not path.is_file():
        return ()
    empty = directory / "bashrc"
    empty.touch()
    return (Bind(source=str(empty), target=str(path), read_only=True),)


def _environ(pod: Pod, pid: int) -> bytes:
    """Return the environment of a process, which a pod knows by this number; empty when it is gone."""
    try:
        return (pod.root / "proc" / str(pid) / "environ").read_bytes()
    except OSError:
        return b""
