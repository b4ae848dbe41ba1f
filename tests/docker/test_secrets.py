"""The secret of a job and its keys are in the private files while it runs, and nowhere after it."""

from __future__ import annotations

import os
import signal
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docker.conftest import Box, docker
from tests.docker.test_images import image
from tests.helpers import needles
from tests.helpers.eventually import eventually
from tests.helpers.keyfiles import make_key_directory
from tests.helpers.mounting import mounts

pytestmark = pytest.mark.docker

NAMES = ("w1", "w2", "launcher")
WORKERS = NAMES[:2]
GIVEN = "/given"  # where a secret file or a key directory is mounted
INIT = "/docker-init"  # a program of the engine's, with what it was given: not ours to hide
LONG_S = 60.0
# Ranks say that they are there, and wait; then one raises, and one leaves a core.
JOB = """
import os, pathlib, time
place = pathlib.Path("/work")
(place / "up").touch()
while not (place / "end").exists():
    time.sleep(0.05)
os.abort() if (place / "abort").exists() else None
raise RuntimeError("the job's own fault")
"""
# What a program of the user's can read; 1 is the engine's init here, see INIT.
HOOK = """#!/bin/sh
for process in /proc/[0-9]*; do
  [ $process = /proc/1 ] || cat $process/environ $process/cmdline
done >>/work/hook 2>/dev/null
env >>/work/hook
"""


@dataclass(frozen=True)
class Case:
    """How a job is set up.

    Attributes:
        stack: its images.
        uid: of agents and ranks.
        source: where the keys come from: variable, file or directory.
    """

    stack: str
    uid: int
    source: str


CASES = [
    Case("openmpi4", 0, "variable"),
    Case("openmpi5", 1000, "file"),
    Case("mpich", 1000, "directory"),
]


class Job:
    """Two workers and a launcher, each with a directory of this machine at /work."""

    def __init__(self, box: Box, case: Case, directory: Path) -> None:
        self.box, self.case, self.directory = box, case, directory
        self.given = directory / "given"
        self.secret = box.secret
        self.needles = self._give()
        self._accounts()

    def _give(self) -> set[bytes]:
        """Lay the key material down as the case has it; return what to look for."""
        if self.case.source == "directory":
            make_key_directory(self.given)
            secrets = needles.of_key((self.given / "id_ed25519").read_bytes())
        else:
            self.given.write_text(self.secret)
            secrets = needles.of_text(self.secret)
        for path in (self.given, *self.given.rglob("*")):
            path.chmod(0o755 if path.is_dir() else 0o400)
            os.chown(path, self.case.uid, self.case.uid)
        return secrets

    def _accounts(self) -> None:
        known = docker(
            "run", "--rm", "--entrypoint", "cat", image(self.case.stack), "/etc/passwd", check=True
        ).stdout
        (self.directory / "passwd").write_text(f"{known}job:x:1000:1000::/tmp:/bin/sh\n")

    def _source(self) -> Sequence[str]:
        mount = ("-v", f"{self.given}:{GIVEN}:ro", "-e", "MPIBOOT_SECRET=")
        return {
            "variable": (),
            "file": (*mount, "-e", f"MPIBOOT_SECRET_FILE={GIVEN}"),
            "directory": (*mount, "-e", f"MPIBOOT_KEY_DIR={GIVEN}"),
        }[self.case.source]

    def start(self, name: str, *words: str) -> None:
        """Start a container whose agent is not PID 1: a signal for a core would not reach that one."""
        work = self.work(name)
        hooks = work / "hooks"
        for kind in ("pre-start", "post-stop"):
            (hooks / kind).mkdir(parents=True)
            hook = hooks / kind / "look"
            hook.write_text(HOOK)
            hook.chmod(0o755)
        work.chmod(0o777)
        loud = {
            "LOG_LEVEL": "debug",
            "LOG_FORMAT": "json",
            "SSHD_LOG_LEVEL": "DEBUG",
            "STATUS_FILE": "/work/status.json",
            "REPORT_FILE": "/work/report.json",
            "METRICS_FILE": "/work/metrics",
            "TERMINATION_LOG": "/work/termination",
            "HOOKS_DIR": "/work/hooks",
        }
        told = [word for key, value in loud.items() for word in ("-e", f"MPIBOOT_{key}={value}")]
        options = (
            "--init", "--ulimit", "core=-1", "-w", "/work", "-v", f"{work}:/work",
            "-v", f"{self.directory / 'passwd'}:/etc/passwd:ro", "--user", str(self.case.uid),
            *told, *self._source(), *mounts(self.case.stack),
        )  # fmt: skip
        self.box.start(name, *words, image=image(self.case.stack), options=options)

    def work(self, name: str) -> Path:
        return self.directory / "work" / name

    def whole(self, name: str) -> str:
        return f"{self.box.run}-{name}"

    def pids(self, name: str, part: str) -> list[int]:
        """Return the processes of a container whose command line has a part, by this machine's numbers."""
        told = docker("top", self.whole(name), "-eo", "pid,args", check=True).stdout
        return [int(line.split()[0]) for line in told.splitlines()[1:] if part in line]

    def where(self) -> dict[str, list[str]]:
        """List the files of each container that hold a needle."""
        return {name: needles.in_container(self.whole(name), self.needles) for name in NAMES}

    def keys(self, name: str) -> list[str]:
        """Name the private files of a container, which alone may hold keys."""
        place = "run/mpiboot" if self.case.uid == 0 else f"tmp/mpiboot-{self.case.uid}"
        role = "launcher" if name == "launcher" else "worker"
        return [f"{place}/{role}/{key}" for key in ("host_key", "user_key")]


@pytest.fixture(params=CASES, ids=lambda case: f"{case.stack}-{case.uid}-{case.source}")
def job(request: pytest.FixtureRequest, box: Box, tmp_path: Path) -> Job:
    """A job whose ranks run."""
    tmp_path.chmod(0o755)
    tmp_path.parent.chmod(0o755)
    made = Job(box, request.param, tmp_path)
    for name in WORKERS:
        made.start(name, "worker")
    command = ("python3", "-c", JOB)
    made.start("launcher", "launcher", "--hosts", "w1:1,w2:1", "--", *command)
    try:
        eventually(lambda: _assert_up(made), LONG_S, 0.2)
    except AssertionError:
        raise AssertionError("\n".join(map(box.logs, NAMES))) from None
    made.needles |= _keys_of(made)
    return made


def _assert_up(job: Job) -> None:
    assert all((job.work(name) / "up").exists() for name in WORKERS)


def _keys_of(job: Job) -> set[bytes]:
    """Read the private files as they are in use, and see that they are private."""
    pid = job.pids("w1", "mpiboot worker")[-1]
    found: set[bytes] = set()
    for key in job.keys("w1"):
        path = Path(f"/proc/{pid}/root/{key}")
        assert (path.stat().st_mode & 0o777, path.parent.stat().st_mode & 0o777) == (0o600, 0o700)
        found |= needles.of_key(path.read_bytes())
    return found


def test_nothing_secret_is_found_of_a_job(job: Job) -> None:
    """While it runs, only private files hold keys; after TERM, crash and failure no file, log or core."""
    box, whole = job.box, [job.whole(name) for name in NAMES]
    asked = [box.exec("launcher", "mpiboot", *words) for words in (("config",), ("probe",))]
    plan = box.exec("launcher", "mpiboot", "plan", "--hosts", "w1:1", "--", "true")
    for done in (*asked, plan):
        assert not needles.found((done.stdout + done.stderr).encode(), job.needles)
    seen_in = [one for one in needles.in_processes(whole, job.needles) if INIT not in one]
    assert seen_in == []
    for name, seen in job.where().items():
        assert set(seen) <= set(job.keys(name)), seen

    _provoke_cores(job)
    box.wait("launcher")
    box.stop("w2")

    cores = [path for name in NAMES for path in job.work(name).glob("core*")]
    assert cores, "no core was left: nothing is shown"
    assert needles.in_directory(job.directory / "work", job.needles) == []
    for name in NAMES:
        assert not needles.found(box.logs(name).encode(), job.needles), name
    after = job.where()
    assert (after["w2"], after["launcher"]) == ([], [])
    assert set(after["w1"]) <= set(job.keys("w1"))  # it was killed; see the next start

    docker("start", job.whole("w1"), check=True)
    eventually(lambda: _assert_ready_again(job), LONG_S, 0.2)
    box.stop("w1")
    assert job.where()["w1"] == []
    assert needles.in_directory(job.directory / "work", job.needles) == []


def _provoke_cores(job: Job) -> None:
    """Let a rank fail with a traceback, one with a core, and crash sshd and an agent."""
    (job.work("w2") / "abort").touch()
    for pid in job.pids("w1", "sshd")[:1]:
        os.kill(pid, signal.SIGABRT)
    os.kill(job.pids("w1", "mpiboot worker")[-1], signal.SIGABRT)
    for name in WORKERS:
        (job.work(name) / "end").touch()


def _assert_ready_again(job: Job) -> None:
    assert job.box.logs("w1").count("ready on port") == 2
