"""A real launcher and simulated workers, up to thousands: what each further one costs the launcher."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.goal import Aim, Goal
from bench.moments import until
from bench.pods import Bench, end, wall
from mpiboot.local.cluster import Pod, PodSpec

_PROCESSES = 2
_WAIT_S = 300
_RELEASED_S = 120.0
_NETWORK = "10.78"  # of the simulated workers; pods are in 10.77
_FEWER = 16  # times; what the start of the launcher costs is in both, and counts for neither
_ROUTE = ("sh", "-c", 'ip route add "$0" via "$1" && shift && exec "$@"', f"{_NETWORK}.0.0/16")
# Ends at once; notes when it began, and what its parent, the launcher, had used by then.
_MPIRUN = """#!/bin/sh
[ "$1" = --version ] && exec /usr/bin/mpirun "$@"
exec >{stamp}.new
date +%s.%N
cat /proc/$PPID/stat
grep VmHWM /proc/$PPID/status
mv {stamp}.new {stamp}
"""
_TICK_S = 1 / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Run:
    """One job with simulated workers.

    Attributes:
        held_s: from the launcher's start until all but one worker are held.
        reaction_s: from the moment at which the last one listens to mpirun's execution.
        released_s: from there to the launcher's end.
        cpu_s: what the launcher had used when it executed mpirun.
        hwm_kib: most memory that it had until then.
    """

    held_s: float
    reaction_s: float
    released_s: float
    cpu_s: float
    hwm_kib: int


def simulated(count: int) -> Callable[[Bench], Mapping[str, float]]:
    """Run a job with so many simulated workers, and one with fewer; the last worker comes late."""

    def run(box: Bench) -> Mapping[str, float]:
        fewer = count // _FEWER
        few, many = _job(box, fewer), _job(box, count)
        more = count - fewer
        return {
            "all but the last held after s": many.held_s,
            "last one listens → mpirun ms": many.reaction_s * 1000,
            "mpirun → end of the launcher s": many.released_s,
            "launcher: CPU ms/host": (many.cpu_s - few.cpu_s) / more * 1000,
            "launcher: HWM KiB/host": (many.hwm_kib - few.hwm_kib) / more,
            "launcher: CPU s": many.cpu_s,
            "launcher: HWM MiB": many.hwm_kib / 1024,
            f"time, {_FEWER} times the hosts": many.held_s / few.held_s,
        }

    return run


def _job(box: Bench, count: int) -> Run:
    with _servers(box) as (early, late):
        mpirun, stamp = _mpirun(box)
        hostfile = box.directory / box.name("hosts")
        names = [f"{_NETWORK}.{number >> 8}.{number & 255}" for number in range(1, count)]
        hostfile.write_text("".join(f"{name} slots=1\n" for name in (*names, late.pod.address)))
        begun, started = time.monotonic(), wall()
        launcher = box.agent(
            box.name("l"), "launcher", "--mpirun", mpirun, "--wait-timeout", str(_WAIT_S),
            "--hostfile", str(hostfile), "--no-rank-wrapper", "--", "true",
            below=(*_ROUTE, early.pod.address),
        )  # fmt: skip
        _until_greeted(early, count - 1, launcher, box)
        held_s = time.monotonic() - begun
        time.sleep(1)  # now the launcher waits for nothing but the last one
        late.pod.send(10)
        code = launcher.wait(_RELEASED_S)
        released = wall()
        if code:
            raise RuntimeError(f"the launcher ended with {code}: {box.log(launcher)[-2000:]}")
        at, stat, hwm = stamp.read_text().splitlines()
        ticks = stat.rpartition(")")[2].split()[11:13]
        assert started < late.listens < float(at)
        return Run(
            held_s=held_s,
            reaction_s=float(at) - late.listens,
            released_s=released - float(at),
            cpu_s=sum(map(int, ticks)) * _TICK_S,
            hwm_kib=int(hwm.split()[1]),
        )


@dataclass(frozen=True)
class _Server:
    """A pod of simulated workers, and the directory in which it tells of itself."""

    pod: Pod
    directory: Path

    @property
    def greeted(self) -> int:
        """How many workers have heard a launcher's hello."""
        return (self.directory / "greeted").stat().st_size

    @property
    def listens(self) -> float:
        """When it began to listen, by the wall clock."""
        return float((self.directory / "listens").read_text())


@contextmanager
def _servers(box: Bench) -> Iterator[tuple[_Server, _Server]]:
    """Start the workers of a job: many in one pod that listen, and one that is asked to, later."""
    early, late = _server(box, str(_PROCESSES)), _server(box, "1", "--late")
    made = early.pod.exec(("ip", "route", "add", "local", f"{_NETWORK}.0.0/16", "dev", "lo"))
    if made.returncode:
        raise RuntimeError(made.stderr)
    until((early.directory / "listens").exists, "simulated workers listen")
    until((late.directory / "loaded").exists, "the last simulated worker is loaded")
    yield early, late
    end([early.pod, late.pod])


def _server(box: Bench, *words: str) -> _Server:
    name = box.name("s")
    directory = box.directory / name
    directory.mkdir()
    argv = (sys.executable, "-m", "bench.simulating", str(box.secret), str(directory), *words)
    return _Server(box.cluster.start(PodSpec(name=name, argv=argv)), directory)


def _mpirun(box: Bench) -> tuple[str, Path]:
    stamp, path = box.directory / box.name("stamp"), box.directory / box.name("mpirun")
    path.write_text(_MPIRUN.format(stamp=stamp))
    path.chmod(0o755)
    return str(path), stamp


def _until_greeted(server: _Server, count: int, launcher: Pod, box: Bench) -> None:
    last = time.monotonic() + _WAIT_S
    while server.greeted < count:
        if time.monotonic() > last or launcher.poll() is not None:
            told = box.log(launcher)[-2000:]
            raise RuntimeError(f"{server.greeted} of {count} workers were greeted: {told}")
        time.sleep(0.02)


GOALS: Mapping[str, Goal] = {
    f"simulated-{count}": Goal(
        what=f"what one of {count} simulated workers costs the launcher until mpirun is executed",
        aims=(
            Aim(figure="launcher: CPU ms/host", most=6),
            Aim(figure="launcher: HWM KiB/host", most=150),
            Aim(figure=f"time, {_FEWER} times the hosts", most=25),
        ),
        run=simulated(count),
        unit="",
        apart=count > 64,
    )
    for count in (64, 1000, 4096)
}
