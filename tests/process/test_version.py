"""`mpiboot version` on a machine with and without the programs that it asks."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mpiboot import __version__
from tests.helpers.schema import problems


def _said(path: str, *words: str, prefix: tuple[str, ...] = ()) -> str:
    done = subprocess.run(
        [*prefix, sys.executable, "-I", "-m", "mpiboot", *words], env={"PATH": path},
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def _json(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(_said(path, "version", "--json"))
    assert problems(found, "version") == []
    return found


def test_it_names_what_is_installed() -> None:
    """The MPI and OpenSSH of this machine, by path and version, and our own dependencies."""
    found = _json("/usr/bin:/bin")
    assert found["mpiboot"] == __version__
    assert found["executable"] == sys.executable
    assert found["mpi"]["version"].startswith("Open MPI 4.")
    for name in ("ssh", "sshd"):
        assert found[name]["version"].startswith("OpenSSH_")
        assert Path(found[name]["path"]).name == name
    assert set(found["dependencies"]) == {
        *("cryptography", "paramiko", "prometheus-client", "psutil", "pyyaml", "rich")
    }
    assert all(found["dependencies"].values())


def test_it_speaks_where_nothing_is_installed(tmp_path: Path) -> None:
    """Programs that are not there are null, and one that cannot be started says why: no failure."""
    (tmp_path / "ssh").write_bytes(b"\x7fELF, or not")
    (tmp_path / "ssh").chmod(0o755)
    found = _json(str(tmp_path))
    assert found["mpi"] is None
    assert found["ssh"]["path"] == f"{tmp_path}/ssh"
    assert "cannot start" in found["ssh"]["fault"]


def test_a_program_that_hangs(tmp_path: Path) -> None:
    """An mpirun that never answers is left after its time, and the rest is said."""
    (tmp_path / "mpirun").write_text("#!/bin/sh\nexec /bin/sleep 1000\n")
    (tmp_path / "mpirun").chmod(0o755)
    assert _json(str(tmp_path))["mpi"] == {"path": f"{tmp_path}/mpirun", "version": ""}


@pytest.mark.parametrize("words", [["--version"], ["version"]])
def test_the_short_form_starts_nothing(tmp_path: Path, words: list[str]) -> None:
    """One line, and no process beside our own."""
    record = tmp_path / "calls"
    watch = ("/usr/bin/strace", "-f", "-qq", "-e", "trace=execve,fork,vfork,clone,clone3")
    said = _said("/usr/bin", *words, prefix=(*watch, "-o", str(record)))
    assert said == f"mpiboot {__version__}\n"
    assert len(record.read_text().splitlines()) == 1
