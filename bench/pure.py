"""What needs no pod: the command line's start, key material, and texts for 10,000 hosts."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

from bench.goal import OURS, RATIO, THEIRS, Aim, Figures, Goal
from bench.pods import AGENT, Bench
from mpiboot.model.hosts import Host, parse_hostfile
from mpiboot.model.outcome import Phase, Stage
from mpiboot.mpi import openmpi
from mpiboot.mpi.protocol import Node
from mpiboot.plan import sshconf
from mpiboot.plan.gather import Reach, Seen, Terms, Verb, decide
from mpiboot.plan.layout import arrange
from mpiboot.plan.roster import Roster, undecided
from mpiboot.report.metrics import render
from mpiboot.report.status import Standing, document
from mpiboot.report.timeline import Timeline
from mpiboot.roles import launcher_gauges
from mpiboot.roles.launcher_view import LauncherView
from mpiboot.runtime import files

_HOSTS = 10_000
# As long as names of pods are behind a headless Service.
_NAMES = [f"training-job-worker-{n}.training-job.some-namespace.svc" for n in range(_HOSTS)]
# What a worker runs for its keys, with the secret's derivation and the files.
_KEYS = """
import sys, pathlib
from mpiboot.runtime import keymaking
from mpiboot.runtime.keys import Origin
place = pathlib.Path(sys.argv[2])
keymaking.prepare(Origin(secret=pathlib.Path(sys.argv[1]).read_text().strip(), what="secret"), place)
"""


def cpu_s(argv: Sequence[str]) -> float:
    """Run a program; return its CPU seconds and those of its children, by wait4.

    Raises:
        RuntimeError: it failed.
    """
    with subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RuntimeError(f"{argv[0]} ended with {running.returncode}")
    return used.ru_utime + used.ru_stime


def command_line(word: str) -> Callable[[Bench], Figures]:
    """Count the CPU of a command that only prints, and of an interpreter that does nothing."""

    def run(box: Bench) -> Figures:
        bare = (sys.executable, "-c", "pass")
        ours, theirs = box.pair(lambda: cpu_s((*AGENT, word)), lambda: cpu_s(bare))
        return {OURS: ours, THEIRS: theirs}

    return run


def keys(box: Bench) -> Figures:
    """Count the CPU of making a worker's keys, interpreter included, and of `ssh-keygen -A`."""
    place = box.directory / box.name("keys")
    (place / "etc/ssh").mkdir(parents=True)
    ours, theirs = box.pair(
        lambda: cpu_s((sys.executable, "-I", "-c", _KEYS, str(box.secret), str(place))),
        lambda: cpu_s(("ssh-keygen", "-A", "-f", str(place))),
    )
    return {OURS: ours, THEIRS: theirs}


def hostfile(box: Bench) -> Figures:
    """Time the layout, hostfile and known_hosts of 10,000 hosts, written atomically; and to parse."""
    seen = _seen()
    begun = time.perf_counter()
    layout = arrange(seen, own_hostname="launcher", slots="auto", np=0)
    laid_out = time.perf_counter()
    text = openmpi.hostfile([Node(name=p.node, slots=p.slots) for p in layout.places], "")
    files.write(box.directory / "hostfile", text)
    written = time.perf_counter()
    keys_text = sshconf.known_hosts(["ssh-ed25519 AAAA"], layout.places)
    files.write(box.directory / "known_hosts", keys_text)
    known = time.perf_counter()
    gc.disable()  # as in a launcher that starts
    parsed = parse_hostfile((box.directory / "hostfile").read_text(), "hostfile")
    ended = time.perf_counter()
    gc.enable()
    assert len(parsed.hosts) == _HOSTS
    return {
        OURS: (written - laid_out) * 1000,
        "layout": (laid_out - begun) * 1000,
        "known_hosts": (known - written) * 1000,
        "parse": (ended - known) * 1000,
    }


def decisions(_box: Bench) -> Figures:
    """Count the CPU of a wait's decisions while 10,000 hosts become ready one by one; beside them a look.

    Each host is also tried once in vain before, and asks how many are missing to know its pause.
    """
    seen = _seen()
    terms = Terms(expected=_HOSTS, deadline_s=600, strikes=3)
    begun = time.thread_time()
    roster = Roster(Seen(host=one.host) for one in seen)
    verb = Verb.WAIT
    for one in seen:
        assert verb is Verb.WAIT
        assert roster.pending
        roster[one.host.name] = one
        if not undecided(roster, terms, 1.0):
            verb = decide(list(roster.values()), terms, 1.0).verb
    ended = time.thread_time()
    assert verb is Verb.GO
    decide(seen[1:], terms, 1.0)
    looked = time.thread_time()
    return {OURS: (ended - begun) * 1000, "one look at all": (looked - ended) * 1000}


def status_file(_box: Bench) -> Figures:
    """Count the CPU of a status document with 10,000 workers, and of its text."""
    view = _view()
    begun = time.thread_time()
    standing = Standing(phase=Phase.RUNNING, conditions=(), tasks=view.tasks())
    made = document("launcher", view.timeline, standing, view.details(), None)
    ended = time.thread_time()
    text = json.dumps(made, indent=2)
    written = time.thread_time()
    assert text.count('"ready_after_s"') == _HOSTS
    return {OURS: (ended - begun) * 1000, "text": (written - ended) * 1000}


def metrics(box: Bench) -> Figures:
    """Time the scrape of a launcher with 10,000 workers, and prometheus_client with a series for each."""
    import prometheus_client  # noqa: PLC0415 - nothing else needs it

    families = launcher_gauges.of(_view())

    async def scrape() -> float:
        begun = time.perf_counter()
        render(families())
        return (time.perf_counter() - begun) * 1000

    def ours() -> float:
        return asyncio.run(scrape())  # ages of leases are by the loop's clock

    def theirs() -> float:
        registry = prometheus_client.CollectorRegistry()
        gauge = prometheus_client.Gauge("wait", "Each.", ["worker"], registry=registry)
        begun = time.perf_counter()
        for name in _NAMES:
            gauge.labels(name).set(1.5)
        prometheus_client.generate_latest(registry)
        return (time.perf_counter() - begun) * 1000

    one, other = box.pair(ours, theirs)
    return {OURS: one, THEIRS: other}


def _seen() -> list[Seen]:
    return [
        Seen(
            host=Host(name=name, slots=8),
            reach=Reach.READY,
            address=_address(number),
            ready_after_s=number / 100,
        )
        for number, name in enumerate(_NAMES)
    ]


def _view() -> LauncherView:
    """Make the view of a launcher that runs a job on all of them, their leases beyond the limit."""
    gathered: Any = SimpleNamespace(
        seen=Roster(_seen()),
        expected=_HOSTS,
        losses={},
        failures={},
        leases={},
    )
    view = LauncherView(command=["true"], timeline=Timeline(), gathering=gathered)
    view.layout = arrange(_seen(), own_hostname="launcher", slots="auto", np=0)
    view.timeline.enter(Stage.RUNNING)
    return view


def _address(number: int) -> str:
    return f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"


GOALS: Mapping[str, Goal] = {
    **{
        word: Goal(
            what=f"CPU of `mpiboot --{word}`",
            beside="`python3 -c pass`",
            aims=(Aim(figure=RATIO, most=5),),
            run=command_line(f"--{word}"),
        )
        for word in ("version", "help")
    },
    "keys": Goal(
        what="CPU of making a worker's keys from the secret, interpreter included",
        beside="`ssh-keygen -A`",
        aims=(Aim(figure=RATIO, most=1),),
        run=keys,
    ),
    "hostfile": Goal(
        what="hostfile of 10,000 hosts: text, and atomic write",
        aims=(Aim(most=20), Aim(figure="parse", most=20)),
        run=hostfile,
        unit="ms",
    ),
    "decisions": Goal(
        what="decisions of a wait in which 10,000 hosts become ready one by one, CPU",
        aims=(Aim(most=500),),
        run=decisions,
        unit="ms",
    ),
    "status": Goal(
        what="the status document of 10,000 workers, CPU",
        aims=(Aim(most=200),),
        run=status_file,
        unit="ms",
    ),
    "metrics": Goal(
        what="a scrape of a launcher with 10,000 workers, which gives counts alone",
        beside="prometheus_client with a series for each worker",
        aims=(Aim(most=5), Aim(figure=RATIO, most=0.2)),
        run=metrics,
        unit="ms",
    ),
}
