"""`mpiboot status` after the end: it finds what the agent has left, also where a setting moved it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from mpiboot import cli

_ENDED = {
    "schema": 1,
    "role": "launcher",
    "phase": "Failed",
    "outcome": {"code": 139, "fault": "rank", "message": "rank 1 on w1 was killed by SIGSEGV"},
}


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {"MPIBOOT_RUNTIME_DIR": str(tmp_path / "run"), "MPIBOOT_CONFIG": _config(tmp_path, {})}


def _config(directory: Path, keys: Mapping[str, str]) -> str:
    path = directory / "settings.yaml"
    path.write_text(json.dumps(keys))
    return str(path)


def _left(path: Path, **changed: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({**_ENDED, **changed}))
    return path


def test_it_is_found_in_the_runtime_directory(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """What no setting has moved lies where the agent had its files."""
    _left(tmp_path / "run" / "launcher" / "status.json")
    assert cli.run(["status"], env) == 0
    assert "rank 1 on w1 was killed by SIGSEGV" in capsys.readouterr().out


@pytest.mark.parametrize("how", ["variable", "settings file"])
def test_it_is_found_where_a_setting_moved_it(
    how: str, tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """The place that the variable or the settings file names comes first: older jobs left others."""
    older = {"code": 0, "fault": "none", "message": "the job succeeded"}
    _left(tmp_path / "run" / "launcher" / "status.json", phase="Succeeded", outcome=older)
    moved = str(_left(tmp_path / "reports" / "status.json"))
    if how == "variable":
        env["MPIBOOT_STATUS_FILE"] = moved
    else:
        _config(tmp_path, {"status_file": moved})
    assert cli.run(["status", "--json"], env) == 0
    assert json.loads(capsys.readouterr().out)["status"]["outcome"]["code"] == 139


def test_a_file_that_tells_of_no_end_is_named(
    tmp_path: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """An agent that was killed leaves a status without an outcome: that is not shown as an end."""
    env["MPIBOOT_STATUS_FILE"] = str(_left(tmp_path / "status.json", phase="Running", outcome=None))
    assert cli.run(["status"], env) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert (
        f"no mpiboot runs here; ask in one of the job's containers; {tmp_path}/status.json" in err
    )


def test_where_nothing_is_found_it_says_what_to_set(
    env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    """A flag of an agent that has ended cannot be known: the line says how to tell it."""
    assert cli.run(["status"], env) == 1
    assert "set MPIBOOT_STATUS_FILE to that file" in capsys.readouterr().err
