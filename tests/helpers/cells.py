"""What a cell of the fault matrix is, what came of it, and whether that is right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One fault, and what must come of it.

    Attributes:
        name: short, for the command line.
        title: what happens, for the table.
        how: how it is brought about, a name in helpers.inflicting.
        on: the container that it happens to.
        when: `up`: all ranks have met; else the launcher's stage.
        job: what the ranks do, for under_fault.py.
        code: the launcher's exit codes that are right.
        fault: class of the outcome.
        hosts: one of them is named by the first failure; none: no failure is asked for.
        rank: that it names.
        says: pattern in the outcome's message.
        within_s: seconds from the fault to the launcher's end.
        workers: exit codes that are right; a worker that is not here may have any.
        isolated: workers that must stop what runs, and keep only the agent and sshd, before they leave.
        reporter: whose outcome is judged: the launcher is not always there to tell.
        options: of the agents, by container.
        docker: options of `docker run`, by container.
        full: containers whose small disk is full before the agent starts.
        hosts_given: for --hosts.
        quick: whether heartbeats are quick, in place of the defaults.
        also: pattern that the launcher's log must have somewhere.
    """

    name: str
    title: str
    how: str
    on: str = "w1"
    when: str = "up"
    job: tuple[str, ...] = ("wait",)
    code: tuple[int, ...]
    fault: str
    hosts: tuple[str, ...] = ()
    rank: int | None = None
    says: str = ""
    within_s: float = 40.0
    workers: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    isolated: tuple[str, ...] = ()
    reporter: str = "launcher"
    options: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    docker: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    full: tuple[str, ...] = ()
    hosts_given: str = "w1:1,w2:1"
    quick: bool = True
    also: str = ""


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What came of a fault.

    Attributes:
        code: the launcher's exit code; None when it had to be killed by the test.
        seconds: from the fault to the launcher's end.
        fault: class, of the reporter's termination message.
        host: of its first failure.
        rank: of its first failure.
        message: its message.
        last_line: of the reporter's log.
        log: the launcher's.
        workers: exit codes; None for one that stayed.
        idle_s: seconds from the fault until only agent and sshd were left in an isolated worker.
        left: what ran in a container that should be idle, and what the engine still has.
    """

    code: int | None
    seconds: float
    fault: str = ""
    host: str = ""
    rank: int | None = None
    message: str = ""
    last_line: str = ""
    log: str = ""
    workers: Mapping[str, int | None] = field(default_factory=dict)
    idle_s: Mapping[str, float] = field(default_factory=dict)
    left: Sequence[str] = ()


def judge(cell: Cell, seen: Seen) -> list[str]:
    """Tell what is wrong; nothing when all is as it must be."""
    return [*_outcome(cell, seen), *_log(cell, seen), *_leftovers(cell, seen)]


def _outcome(cell: Cell, seen: Seen) -> list[str]:
    wrong = []
    if seen.code not in cell.code:
        wrong.append(f"code {seen.code}, not {_either(cell.code)}")
    if seen.seconds > cell.within_s:
        wrong.append(f"{seen.seconds:.1f} s, more than {cell.within_s:g}")
    if seen.fault != cell.fault:
        wrong.append(f"class {seen.fault!r}, not {cell.fault!r}")
    if cell.hosts and seen.host not in cell.hosts:
        wrong.append(f"host {seen.host!r}, not {_either(cell.hosts)}")
    if cell.hosts and seen.rank != cell.rank:
        wrong.append(f"rank {seen.rank}, not {cell.rank}")
    if not re.search(cell.says, seen.message):
        wrong.append(f"says {seen.message!r}, not {cell.says!r}")
    return wrong


def _log(cell: Cell, seen: Seen) -> list[str]:
    wrong = []
    if seen.message.partition("\n")[0] not in seen.log + seen.last_line:
        wrong.append("the log does not hold the message")
    if cell.also and not re.search(cell.also, seen.log):
        wrong.append(f"the log has no {cell.also!r}")
    if "internal fault" in seen.log:
        wrong.append("the log has a fault of the agent's own")
    return wrong


def _leftovers(cell: Cell, seen: Seen) -> list[str]:
    wrong = []
    for name, codes in cell.workers.items():
        if seen.workers.get(name) not in codes:
            wrong.append(f"{name} ended with {seen.workers.get(name)}, not {_either(codes)}")
    wrong += [f"{name} was never idle" for name in cell.isolated if name not in seen.idle_s]
    return wrong + [f"left: {one}" for one in seen.left]


def _either(values: Sequence[object]) -> str:
    return " or ".join(str(value) for value in values)
