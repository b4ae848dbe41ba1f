"""The benchmarks: one round of each returns its figures in seconds."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from bench.leases import leases
from bench.pods import AGENT, Bench, until_banner, until_ready, whole

# Records the moment at which the real mpirun is executed, and becomes it.
_WRAPPER = """#!/bin/sh
[ "$1" = --version ] || date +%s.%N >{stamp}
exec /usr/bin/mpirun "$@"
"""
OURS, THEIRS = "mpiboot", "baseline"
Figures = Mapping[str, float]


@dataclass(frozen=True, kw_only=True)
class Benchmark:
    """One thing to measure.

    Attributes:
        what: the figure OURS of a round.
        beside: the figure THEIRS, measured in the same round; empty where there is no baseline.
        aim: what it should be.
        run: makes one round.
        unit: of the figures; empty where each has its own in its name.
        apart: whether it runs only when it is asked for, and without a warm-up: it takes long.
    """

    what: str
    beside: str = ""
    aim: str
    run: Callable[[Bench], Figures]
    unit: str = "s"
    apart: bool = False


def ready(box: Bench) -> Figures:
    """Time pod start → worker ready, and pod start → bare sshd's banner."""
    at, begun = wall(), time.monotonic()
    pod = box.agent(box.name("a"), "worker")
    ours = until_ready(pod) - begun
    steps = {
        "  … keys made": box.until_said(pod, "keys from") - at,
        "  … sshd listens": box.until_said(pod, "Server listening") - at,
        "  … login proven": box.until_said(pod, "ready on port") - at,
    }
    pod.kill()
    pod.wait()
    begun = time.monotonic()
    pod = box.plain_sshd(box.name("b"))
    theirs = until_banner(pod) - begun
    pod.kill()
    pod.wait()
    return {OURS: ours, THEIRS: theirs, **steps}


def react(count: int) -> Callable[[Bench], Figures]:
    """Time last worker ready → mpirun executed, all others being held already."""

    def run(box: Bench) -> Figures:
        stamp, wrapper = box.directory / box.name("stamp"), box.directory / box.name("mpirun")
        wrapper.write_text(_WRAPPER.format(stamp=stamp))
        wrapper.chmod(0o755)
        early = box.workers(count - 1)
        name = box.name("w")
        hosts = ",".join(f"{name}:1" for name in (*(pod.name for pod in early), name))
        options = ("--mpirun", str(wrapper), "--wait-timeout", "60", "--hosts", hosts)
        launcher = box.agent(box.name("l"), "launcher", *options, "--", "true")
        for pod in early:
            box.until_said(pod, "is here")
        time.sleep(0.5)  # now the launcher waits for nothing but the last one
        begun = wall()
        last = box.agent(name, "worker")
        if launcher.wait(60):
            raise RuntimeError(box.log(launcher))
        executed, ready_at = float(stamp.read_text()), box.until_said(last, "ready on port")
        for pod in (*early, last):
            pod.wait(30)
        return {OURS: executed - ready_at, "  … since its start": executed - begun}

    return run


def job(count: int) -> Callable[[Bench], Figures]:
    """Time a whole job of `true`, all workers ready: the launcher's agent, and bare mpirun."""

    def run(box: Bench) -> Figures:
        plain = [box.plain_sshd(box.name("p")) for _ in range(count)]
        for pod in plain:
            until_banner(pod)
        here, workers = box.bystander(box.name("l")), box.workers(count)
        hosts = ",".join(f"{pod.name}:1" for pod in workers)
        env = ("env", f"MPIBOOT_SECRET_FILE={box.secret}")
        ours = whole(here, (*env, *AGENT, "launcher", "--hosts", hosts, "--", "true"))
        for pod in workers:  # they leave with the job, outside the clock
            pod.wait(30)
        hostfile = box.directory / box.name("hosts")
        hostfile.write_text("".join(f"{pod.name} slots=1\n" for pod in plain))
        ssh = f"-i {box.key} -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        line = (
            "mpirun", "--allow-run-as-root", "--hostfile", str(hostfile), "-np", str(count),
            "--bind-to", "none", "--map-by", "slot", "--mca", "pml", "ob1",
            "--mca", "btl", "^openib", "--mca", "plm_rsh_args", ssh, "true",
        )  # fmt: skip
        theirs = whole(here, line)
        for pod in (*plain, here):
            pod.kill()
            pod.wait()
        return {OURS: ours, THEIRS: theirs}

    return run


def wall() -> float:
    """Return the wall clock, which agents and programs write down."""
    return time.time()  # noqa: TID251 - compared with other processes' wall clock


BARE = "bare mpirun over stock sshd and ssh"
BENCHMARKS: Mapping[str, Benchmark] = {
    "ready": Benchmark(
        what="pod start → worker ready",
        beside="pod start → banner of a bare sshd -D",
        aim="difference ≤ 0.3 s",
        run=ready,
    ),
    **{
        f"react-{count}": Benchmark(
            what=f"last worker ready → mpirun executed, {count} workers",
            aim="≤ 0.15 s",
            run=react(count),
        )
        for count in (4, 16)
    },
    **{
        f"job-{count}": Benchmark(
            what=f"whole job of `true`, {count} ready workers",
            beside=BARE,
            aim="ratio ≤ 1.3",
            run=job(count),
        )
        for count in (2, 4)
    },
    **{
        f"leases-{count}": Benchmark(
            what=f"what one of {count} leases costs that are held, 4 real workers",
            aim="launcher: at most 100 KiB and 50 ms CPU a minute",
            run=leases(count),
            unit="",
            apart=True,
        )
        for count in (64, 256, 1024)
    },
}
