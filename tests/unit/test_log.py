"""The agent's own lines: text for people, JSON for collectors."""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator

import pytest

from mpiboot import log


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Leave the logger as it was."""
    kept = log.logger.handlers[:], log.logger.level, log.logger.propagate
    yield
    log.logger.handlers[:], log.logger.propagate = kept[0], kept[2]
    log.logger.setLevel(kept[1])


def test_json_is_one_object_a_line(capfd: pytest.CaptureFixture[str]) -> None:
    """Time in UTC, level, role and message; a text of several lines stays one object."""
    log.configure("worker", as_json=True)
    log.logger.warning("%s was lost:\nno answer", "w1")
    log.logger.debug("not shown at this level")
    (line,) = capfd.readouterr().err.splitlines()
    entry = json.loads(line)
    assert entry.pop("time").endswith("Z")
    assert entry.pop("host") == os.uname().nodename
    assert entry == {"level": "warning", "role": "worker", "message": "w1 was lost:\nno answer"}


def test_a_traceback_is_in_the_object(capfd: pytest.CaptureFixture[str]) -> None:
    """An exception does not break the line-by-line form."""
    log.configure("launcher", as_json=True)
    try:
        json.loads("{")
    except ValueError:
        log.logger.exception("internal fault")
    (line,) = capfd.readouterr().err.splitlines()
    assert "JSONDecodeError" in json.loads(line)["exception"]


def test_text_has_role_and_level(capfd: pytest.CaptureFixture[str]) -> None:
    """The level is named from warning on; nothing that others say moves a terminal's cursor."""
    log.configure("worker")
    log.logger.info("ready on port 22")
    log.logger.error("it said \x1b[2J\nand more")
    assert logging.getLogger("mpiboot") is log.logger
    assert capfd.readouterr().err.splitlines() == [
        "[mpiboot worker] ready on port 22",
        "[mpiboot worker] error: it said ?[2J",
        "[mpiboot worker] error: and more",
    ]
