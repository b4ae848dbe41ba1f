"""Runs of the fault matrix: records as JSON lines, and the page that shows them."""

from __future__ import annotations

import dataclasses
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tests.helpers.cells import Cell
from tests.helpers.faults import BY_NAME, MATRIX, STACKS

NAMES = {"openmpi4": "Open MPI 4", "openmpi5": "Open MPI 5", "mpich": "MPICH"}
HEAD = (
    "| fault | MPI | runs | right | code | class | names | seconds, median | seconds, max |",
    "|---|---|--:|--:|---|---|---|--:|--:|",
)

PREFACE = (
    "Made by `make faults`, and never by hand: three containers on a network of their own, two workers"
    " with a rank each and a launcher; the ranks meet every 50 ms, and each has a child in a session of"
    " its own. A run is right when the launcher's code, the outcome's class, the host and rank that it"
    " names, and the workers' codes are as `tests/helpers/faults.py` has them, all of that in time, and"
    " when nothing of the job is left in any container. Seconds count from the fault to the launcher's"
    " end. Heartbeats come every 0.5 s and a lease is lost after 8 s, but where defaults are named."
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """One run of a cell, as it is recorded.

    Attributes:
        stack: whose images.
        name: of the cell.
        at: when it began, UTC.
        wrong: what was not as it must be.
        logs: of all containers, where something was wrong; not recorded.
        code: of the launcher.
        fault: class of the outcome.
        host: that was named.
        rank: that was named.
        message: of the outcome.
        seconds: from the fault to the launcher's end.
        workers: exit codes.
        idle_s: seconds from the fault until only agent and sshd were left.
        settings: what the run was made with: versions, how many side by side.
    """

    stack: str
    name: str
    at: str
    wrong: Sequence[str]
    logs: str = ""
    code: int | None = None
    fault: str = ""
    host: str = ""
    rank: int | None = None
    message: str = ""
    seconds: float = 0.0
    workers: Mapping[str, int | None] = field(default_factory=dict)
    idle_s: Mapping[str, float] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)

    def to_line(self) -> str:
        """Render the record."""
        return json.dumps({**dataclasses.asdict(self), "logs": ""})


def read(text: str) -> list[Run]:
    """Read records; those of cells that are no more are left out."""
    runs = [Run(**json.loads(line)) for line in text.splitlines() if line.strip()]
    return [run for run in runs if run.name in BY_NAME]


def page(runs: Sequence[Run]) -> str:
    """Render all runs as the page of the documentation."""
    lines = [
        "# Faults, and what comes of them",
        "",
        PREFACE,
        "",
        *_told(runs),
        "",
        *HEAD,
        *_rows(runs),
        "",
        f"{len(runs)} runs, {sum(not run.wrong for run in runs)} right.",
    ]
    wrong = [run for run in runs if run.wrong]
    if wrong:
        lines += ["", "Not right:", ""]
        lines += [
            f"- {run.name}, {NAMES[run.stack]}, {run.at}: {_line('; '.join(run.wrong))}"
            for run in wrong
        ]
    return "\n".join(lines) + "\n"


def _told(runs: Sequence[Run]) -> Iterator[str]:
    """Tell when, and with what."""
    days = sorted({run.at[:10] for run in runs})
    if days:
        yield f"- date: {days[0]}" + (f" to {days[-1]}" if days[1:] else "")
    keys = dict.fromkeys(key for run in runs for key in run.settings)
    for key in keys:
        values = dict.fromkeys(run.settings[key] for run in runs if key in run.settings)
        yield f"- {key}: {', '.join(values)}"


def _rows(runs: Sequence[Run]) -> Iterator[str]:
    for cell in MATRIX:
        for stack in STACKS:
            mine = [run for run in runs if (run.stack, run.name) == (stack, cell.name)]
            if mine:
                yield _row(cell, stack, mine)


def _row(cell: Cell, stack: str, runs: Sequence[Run]) -> str:
    ended = [run.seconds for run in runs if run.code is not None]
    columns = [
        cell.title, NAMES[stack], str(len(runs)), str(sum(not run.wrong for run in runs)),
        _counted([_code(cell, run) for run in runs]), _counted([run.fault or "-" for run in runs]),
        _counted([_named(run) for run in runs]),
        f"{statistics.median(ended):.1f}" if ended else "-", f"{max(ended):.1f}" if ended else "-",
    ]  # fmt: skip
    return "| " + " | ".join(columns) + " |"


def _code(cell: Cell, run: Run) -> str:
    """Tell the code of the one who reports."""
    if cell.reporter == "launcher":
        return str(run.code)
    return f"{run.workers.get(cell.reporter)} ({cell.reporter})"


def _named(run: Run) -> str:
    """Tell whom the outcome names, where it has a failure to name."""
    if run.fault in ("none", "signal"):
        return "-"
    rank = f", rank {run.rank}" if run.rank is not None else ""
    return f"{run.host}{rank}" if run.host else "-"


def _counted(values: Sequence[str]) -> str:
    """Tell the values, the most frequent first, and how often each came where they differ."""
    counts = {value: values.count(value) for value in sorted(set(values))}
    ordered = sorted(counts, key=lambda value: -counts[value])
    if len(ordered) == 1:
        return ordered[0]
    return ", ".join(f"{value} ({counts[value]}x)" for value in ordered)


def _line(text: str) -> str:
    return " ".join(text.split())[:300]
