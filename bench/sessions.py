"""mpirun's ssh to many workers at once: sessions of held leases, and connections of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from bench.goal import OURS, RATIO, THEIRS, Aim, Figures, Goal
from bench.pods import Bench, end
from mpiboot.local.cluster import Pod

# Stands for mpirun: all its ssh side by side, as Open MPI is told to; then CPU and clock, as they
# were before and are after. The agent is its parent, and the shell's children are ssh.
_MPIRUN = """#!/bin/sh
case "$*" in *--version*) echo 'mpirun (Open MPI) 4.1.4'; exit;; esac
look() { date +%s.%N; cut -d' ' -f14,15 /proc/$PPID/stat; }
look >{file}
for name in {names}; do
  ssh -F {config} "$name" true || echo failed >>{file}.failed &
done
wait
look >>{file}
times >>{file}
"""
_CONFIG = "/run/mpiboot/launcher/ssh_config"
_TICK_MS = 10


def sessions(count: int) -> Callable[[Bench], Figures]:
    """Time so many sessions at once, from the first ssh to the end of the last; and count CPU."""

    def run(box: Bench) -> Figures:
        workers = box.workers(count, "--retry-grace", "600")
        more: dict[str, float] = {}
        ours, theirs = box.pair(
            lambda: _opened(box, workers, OURS, more),
            lambda: _opened(box, workers, THEIRS, more, "--no-lease-sessions"),
        )
        end(workers)
        return {OURS: ours, THEIRS: theirs, **more}

    return run


def _opened(
    box: Bench, workers: list[Pod], whose: str, more: dict[str, float], *options: str
) -> float:
    names = [pod.name for pod in workers]
    file, mpirun = box.directory / box.name("seen"), box.directory / box.name("mpirun")
    text = _MPIRUN.replace("{file}", str(file)).replace("{config}", _CONFIG)
    mpirun.write_text(text.replace("{names}", " ".join(names)))
    mpirun.chmod(0o755)
    launcher = box.agent(
        box.name("l"), "launcher", "--no-failure-is-final", "--mpirun", str(mpirun),
        "--hosts", ",".join(f"{name}:1" for name in names), *options, "--", "true",
    )  # fmt: skip
    launcher.wait(300)
    if Path(f"{file}.failed").exists() or not file.exists():
        raise RuntimeError(f"not all sessions came: {box.log(launcher)[-1000:]}")
    begun, before, ended, after, _own, used = file.read_text().splitlines()
    agent = sum(map(int, after.split())) - sum(map(int, before.split()))
    minutes = [word.rstrip("s").split("m") for word in used.split()]
    ssh_s = sum(int(whole) * 60 + float(rest) for whole, rest in minutes)
    more[f"  … launcher's CPU, ms a session: {whose}"] = agent * _TICK_MS / len(workers)
    more[f"  … ssh's CPU, ms a session: {whose}"] = ssh_s * 1000 / len(workers)
    return float(ended) - float(begun)


GOALS: Mapping[str, Goal] = {
    f"sessions-{count}": Goal(
        what=f"seconds of {count} ssh at once over held leases, a worker each",
        beside="the same ssh with connections of their own",
        aims=(Aim(figure=RATIO, most=0.6),),
        run=sessions(count),
        unit="",
    )
    for count in (16, 64)
}
