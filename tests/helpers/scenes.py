"""Jobs that get into trouble, or do not, played while a Prometheus looks on.

A scene is a generator: it starts its pods, and yields how many seconds pass before it goes on, so that
many are played at the same time.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.helpers import memorycgroup
from tests.helpers.agents import PROGRAMS, PYTHON, Agent, Agents, program
from tests.helpers.keyfiles import make_key
from tests.helpers.prometheus import GATEWAY

Scene = Generator[float, None, None]

_MIB = 1 << 20
_LIMIT_BYTES = 200 * _MIB
_RING = program("endless_ring.py")
_PUSHED = {"MPIBOOT_PUSHGATEWAY": GATEWAY}


@dataclass(frozen=True, kw_only=True)
class Stage:
    """Where scenes are played.

    Attributes:
        agents: makes the pods.
        directory: for files that a scene needs.
        stack: undoes at the end what is no pod.
    """

    agents: Agents
    directory: Path
    stack: ExitStack

    def workers(self, job: str, *options: str, count: int = 2, **spec: Any) -> list[Agent]:
        """Start a job's workers."""
        return [self.worker(job, one, *options, **spec) for one in range(1, count + 1)]

    def worker(self, job: str, number: int, *options: str, **spec: Any) -> Agent:
        """Start one of a job's workers."""
        env = {**_PUSHED, **spec.pop("env", {})}
        return self.agents.worker(f"{job}-worker-{number}", *options, env=env, **spec)

    def launcher(
        self, job: str, *command: str, options: Sequence[str] = (), count: int = 2
    ) -> Agent:
        """Start a job's launcher."""
        hosts = ",".join(f"{job}-worker-{one}:1" for one in range(1, count + 1))
        return self.agents.launcher(
            *command, hosts=hosts, options=options, name=f"{job}-launcher", env=_PUSHED
        )

    def limited(self, limit_bytes: int) -> Path:
        """Make a memory cgroup."""
        return self.stack.enter_context(memorycgroup.made(limit_bytes))


def healthy(stage: Stage) -> Scene:
    """Two workers, one of them with a limit of its memory, and a job that does its work."""
    yield from _healthy(stage, 120)


def _healthy(stage: Stage, seconds: float) -> Scene:
    inside = memorycgroup.inside(stage.limited(_LIMIT_BYTES))
    stage.worker("healthy", 1, agent=inside)
    stage.worker("healthy", 2)
    yield 5
    stage.launcher("healthy", "sleep", str(seconds))
    yield seconds + 30


def lost(stage: Stage) -> Scene:
    """A worker's container is killed while the job runs."""
    _, second = stage.workers("lost", "--retry-grace", "5")
    stage.launcher("lost", *_RING)
    yield 30
    second.pod.kill()
    yield 45


def silent(stage: Stage) -> Scene:
    """A worker is frozen, and the lease lasts for a minute."""
    patient = ("--lease-timeout", "60")
    _, second = stage.workers("silent", *patient, "--retry-grace", "5")
    stage.launcher("silent", *_RING, options=patient)
    yield 30
    second.pod.exec(["kill", "-STOP", "-1"])
    second.pod.send(signal.SIGSTOP)
    yield 100
    second.pod.kill()
    yield 10


def memory(stage: Stage) -> Scene:
    """A rank fills its worker's memory, stays so for two minutes, and wants more."""
    group = stage.limited(_LIMIT_BYTES)
    use = next(group.glob("memory.usage_in_bytes"), group / "memory.current")
    stage.worker("memory", 1, agent=memorycgroup.inside(group))
    stage.worker("memory", 2)
    stage.launcher("memory", *program("filling.py", str(use), str(_LIMIT_BYTES), "120"))
    yield 170


def untrue(stage: Stage) -> Scene:
    """An mpirun that starts the program on its own host, and says 0."""
    stage.workers("untrue")
    words = ("--mpirun", str(PROGRAMS / "fake_mpirun.py"))
    stage.launcher("untrue", "sleep", "20", options=words)
    yield 60


def waiting(stage: Stage) -> Scene:
    """A worker never comes, and another one goes away meanwhile."""
    (first,) = stage.workers("waiting", count=1)
    stage.launcher("waiting", "true", options=("--wait-timeout", "390"))
    yield 60
    first.pod.kill()
    yield 20
    stage.worker("waiting", 1)
    yield 340


def again(stage: Stage) -> Scene:
    """A daemon does not start at first, then the job fails once, then it runs."""
    tools = stage.directory / "tools"
    tools.mkdir()
    broken, failed = tools / "broken-once", tools / "failed-once"
    orted = tools / "orted"
    orted.write_text(
        f'#!/bin/sh\n[ -e {broken} ] || {{ : >{broken}; exit 1; }}\nexec /usr/bin/orted "$@"\n'
    )
    orted.chmod(0o755)
    path = f"{tools}:/usr/bin:/bin:/usr/sbin:/sbin"
    stage.workers("again", "--retry-grace", "30", env={"PATH": path})
    job = f"sleep 20; [ -e {failed} ] || {{ : >{failed}; exit 5; }}; sleep 40"
    stage.launcher("again", "sh", "-c", job, options=("--max-restarts", "2"))
    yield 130


def besieged(stage: Stage) -> Scene:
    """A worker without a launcher: its sshd is killed, and somebody with a wrong key knocks."""
    wrong = make_key(stage.directory / "wrong")
    (worker,) = stage.workers("besieged", count=1)
    yield 60
    worker.pod.exec(["pkill", "-KILL", "-o", "sshd"])
    yield 60
    words = ["-F", "none", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no"]
    words += ["-o", "UserKnownHostsFile=/dev/null", "-i", str(wrong), "-p", "22"]
    for _ in range(12):
        stage.agents.cluster.pods["prometheus"].exec(["ssh", *words, worker.name, "true"])
        yield 5
    yield 200
    worker.pod.send(signal.SIGTERM)
    yield 20


def orphaned(stage: Stage) -> Scene:
    """The launcher is killed; its workers end its ranks, wait for a while, and leave."""
    stage.workers("orphaned", "--retry-grace", "5")
    launcher = stage.launcher("orphaned", *_RING)
    yield 30
    launcher.pod.kill()
    yield 60


def stalled(stage: Stage) -> Scene:
    """A job that does nothing at all."""
    stage.workers("stalled")
    stage.launcher("stalled", "sleep", "1000", options=("--stall-timeout", "20"))
    yield 80


def unheld(stage: Stage) -> Scene:
    """More workers than the launcher may hold leases."""
    stage.workers("unheld")
    stage.launcher("unheld", PYTHON, "-c", "import time; time.sleep(100)",
                   options=("--lease-limit", "1"))  # fmt: skip
    yield 150


SCENES: dict[str, Callable[[Stage], Scene]] = {
    one.__name__: one
    for one in (
        healthy, lost, silent, memory, untrue, waiting, again, besieged, orphaned, stalled, unheld,
    )
}  # fmt: skip
