"""Carry out one run of a cell of the fault matrix."""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from datetime import datetime, timezone

from tests.helpers.cells import Cell, Seen, judge
from tests.helpers.faultpage import Run
from tests.helpers.inflicting import HOW
from tests.helpers.rigs import rig


def once(stack: str, cell: Cell, settings: Mapping[str, str] | None = None) -> Run:
    """Carry out one cell; whatever goes wrong with it is recorded."""
    at = datetime.now(timezone.utc).isoformat(timespec="seconds")
    seen, wrong, logs = Seen(code=None, seconds=0.0), [], ""
    with rig(stack, cell) as made:
        try:
            seen = made.seen(HOW[cell.how])
            wrong = judge(cell, seen)
        except Exception:  # noqa: BLE001 - one run must not end the others
            wrong = [traceback.format_exc()]
        if wrong:
            logs = made.logs()
    return Run(
        stack=stack, name=cell.name, at=at, wrong=wrong, logs=logs, code=seen.code,
        fault=seen.fault, host=seen.host, rank=seen.rank, message=seen.message,
        seconds=seen.seconds, workers=dict(seen.workers), idle_s=dict(seen.idle_s),
        settings=settings or {},
    )  # fmt: skip
