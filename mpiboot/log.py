"""Logging to stderr, as text or JSON, with one prefix per role; stdout belongs to the job."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import sys
from collections import deque

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import TextIO

    _Stream = logging.StreamHandler[TextIO]
else:
    _Stream = logging.StreamHandler  # it takes no type before Python 3.11

LEVELS = ("debug", "info", "warning", "error")

logger = logging.getLogger("mpiboot")
_recent: deque[str] = deque(maxlen=50)
# Entered around each line, so that it stands beside the job's: what shows those puts itself here.
NOBODY: contextlib.AbstractContextManager[None] = contextlib.nullcontext()
turn = NOBODY


class _Handler(_Stream):
    """Writes a line when it is its turn."""

    def emit(self, record: logging.LogRecord) -> None:
        with turn:
            super().emit(record)


class _Text(logging.Formatter):
    """`[mpiboot worker] message`; the level is named from WARNING on."""

    def __init__(self, role: str) -> None:
        super().__init__()
        self._prefix = f"[mpiboot {role}]" if role else "[mpiboot]"

    def format(self, record: logging.LogRecord) -> str:
        level = f" {record.levelname.lower()}:" if record.levelno >= logging.WARNING else ""
        text = record.getMessage()
        if record.exc_info:
            text = f"{text}\n{self.formatException(record.exc_info)}"
        # What others say stands in it: nothing of that may move a terminal's cursor.
        lines = ("".join(c if c.isprintable() or c == "\t" else "?" for c in one)
                 for one in text.splitlines() or [""])  # fmt: skip
        return "\n".join(f"{self._prefix}{level} {line}" for line in lines)


class _Json(logging.Formatter):
    """One object per line: time (UTC), level, role, host, message; log.schema.json describes it."""

    def __init__(self, role: str) -> None:
        super().__init__(datefmt="%Y-%m-%dT%H:%M:%S")
        self._role = role
        self._host = os.uname().nodename

    def format(self, record: logging.LogRecord) -> str:
        stamp = f"{self.formatTime(record, self.datefmt)}.{int(record.msecs):03d}Z"
        entry = {
            "time": stamp,
            "level": record.levelname.lower(),
            "role": self._role,
            "host": self._host,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["exception"] = self.formatException(record.exc_info)
        return json.dumps(entry, ensure_ascii=False)


class _Ring(logging.Handler):
    """Keeps the last lines as text, for those who look at the agent from outside."""

    def emit(self, record: logging.LogRecord) -> None:
        _recent.extend(self.format(record).splitlines())


def recent() -> list[str]:
    """Return the last lines of this agent's log, oldest first."""
    return list(_recent)


def configure(role: str, *, level: str = "info", as_json: bool = False) -> None:
    """Send the agent's log to stderr.

    Args:
        role: goes into the prefix, e.g. `worker`.
        level: one of LEVELS.
        as_json: JSON lines in place of text.
    """
    import time  # noqa: PLC0415 - only the JSON clock needs it

    handler = _Handler(sys.stderr)
    formatter: logging.Formatter = _Json(role) if as_json else _Text(role)
    formatter.converter = time.gmtime
    handler.setFormatter(formatter)
    ring = _Ring()
    ring.setFormatter(_Text(role))
    logger.handlers[:] = [handler, ring]
    logger.setLevel(level.upper())
    logger.propagate = False
