"""PID 1: what it costs while nothing happens, how fast it forwards signals and reaps orphans."""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from bench.goal import OURS, THEIRS, Aim, Figures, Goal
from bench.moments import until
from bench.pods import Bench, end
from bench.start import init
from bench.usage import inside, running_s, use, wakeups
from mpiboot.local.cluster import Pod, PodSpec

_SETTLED_S, _WATCHED_S = 6.0, 30.0
_SIGNALS, _ORPHANS = 200, 2000
# Stands for mpirun, and becomes the job's program: what the agent does with its child is measured.
_MPIRUN = """#!/bin/sh
case "$*" in *--version*) echo 'mpirun (Open MPI) 4.1.4'; exit;; esac
exec {program} {file}
"""


def idle(box: Bench) -> Figures:
    """Read memory and wakeups of a worker whom nobody has logged in to, and of sshd below tini."""
    pods = (*box.workers(1), *_plain(box))
    time.sleep(_SETTLED_S)
    before = [(wakeups(pod.pid), running_s(pod.pid)) for pod in pods]
    time.sleep(_WATCHED_S)
    minutes = _WATCHED_S / 60
    woken = [(wakeups(pod.pid) - one[0]) / minutes for pod, one in zip(pods, before, strict=True)]
    busy = (running_s(pods[0].pid) - before[0][1]) / minutes
    agent = use(pods[0].pid)
    ours, theirs = ([use(pid) for pid in inside(pod)] for pod in pods)
    end(pods)
    return {
        OURS: sum(one.rss_kib for one in ours) / 1024,
        THEIRS: sum(one.rss_kib for one in theirs) / 1024,
        "all: PSS MiB": sum(one.pss_kib for one in ours) / 1024,
        "baseline: PSS MiB": sum(one.pss_kib for one in theirs) / 1024,
        "agent: RSS MiB": agent.rss_kib / 1024,
        "agent: PSS MiB": agent.pss_kib / 1024,
        "agent: wakeups a minute": woken[0],
        "tini: wakeups a minute": woken[1],
        "agent: CPU ms a minute": busy * 1000,
    }


def forward(box: Bench) -> Figures:
    """Time SIGUSR1 to PID 1 → its child has it; the median of many, in microseconds."""
    program = _compiled(box, "stamp")

    def ours() -> float:
        name, file = box.name("l"), box.directory / box.name("stamps")
        mpirun = box.directory / box.name("mpirun")
        mpirun.write_text(_MPIRUN.format(program=program, file=file))
        mpirun.chmod(0o755)
        options = ("--hosts", f"{name}:1", "--mpirun", str(mpirun), "--no-rank-wrapper")
        return _latency_us(box.agent(name, "launcher", *options, "--", "true"), file)

    def theirs() -> float:
        file = box.directory / box.name("stamps")
        spec = PodSpec(name=box.name("t"), argv=(*_tini(), program, str(file)))
        return _latency_us(box.cluster.start(spec), file)

    one, other = box.pair(ours, theirs)
    return {OURS: one, THEIRS: other}


def _latency_us(pod: Pod, file: Path) -> float:
    def lines() -> list[str]:
        return file.read_text().split()

    until(lambda: lines() == ["ready"], f"{pod.name}'s child waits for signals")
    time.sleep(0.5)  # what a launcher does after it has started its child is done
    took = []
    for number in range(_SIGNALS):
        sent = time.monotonic_ns()
        pod.send(signal.SIGUSR1)
        until(partial(_has, file, number + 2), f"signal {number} came")
        took.append((int(lines()[-1]) - sent) / 1000)
    end([pod])
    return statistics.median(took)


def _has(file: Path, count: int) -> bool:
    return len(file.read_text().split()) == count


def orphans(box: Bench) -> Figures:
    """Let many orphans end at once: the CPU that PID 1 takes for each, and how long all take."""
    program, drained = _compiled(box, "orphans"), {}

    def reaped(pod: Pod, whose: str) -> float:
        time.sleep(1)
        before = running_s(pod.pid)
        done = pod.exec((program, str(_ORPHANS)), timeout_s=60)
        if done.returncode:
            raise RuntimeError(f"no orphans could be made: {done.stderr}")
        drained[f"{whose}: all gone after ms"] = float(done.stdout) * 1000
        took = running_s(pod.pid) - before
        end([pod])
        return took / _ORPHANS * 1e6

    one, other = box.pair(
        lambda: reaped(box.workers(1)[0], OURS), lambda: reaped(_plain(box)[0], THEIRS)
    )
    return {OURS: one, THEIRS: other, **drained}


def _plain(box: Bench) -> tuple[Pod]:
    return (box.plain_sshd(box.name("t"), *_tini()),)


def _tini() -> tuple[str, ...]:
    found = init()
    if not found:
        raise RuntimeError("tini is not installed")
    return found


def _compiled(box: Bench, name: str) -> str:
    made = box.directory / name
    if not made.exists():
        source = Path(__file__).parent / f"programs/{name}.c"
        compiler = os.environ.get("CC", "cc")
        subprocess.run([compiler, "-O2", "-o", str(made), str(source)], check=True)
    return str(made)


GOALS: Mapping[str, Goal] = {
    "idle": Goal(
        what="RSS in MiB of an idle worker's agent and sshd",
        beside="`tini -- sshd -D`",
        aims=(
            Aim(figure="agent: RSS MiB", most=20),
            Aim(figure="agent: wakeups a minute", most=2),
        ),
        run=idle,
        unit="",
        apart=True,
    ),
    "signal": Goal(
        what="SIGUSR1 to PID 1 → its child has it, median of 200",
        beside="tini",
        aims=(Aim(most=100),),
        run=forward,
        unit="µs",
    ),
    "orphans": Goal(
        what="CPU µs of PID 1 per orphan, 2,000 that end at once",
        beside="tini",
        aims=(Aim(most=30),),
        run=orphans,
        unit="",
    ),
}
