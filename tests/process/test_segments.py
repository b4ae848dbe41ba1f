"""Shared memory that dead ranks leave, with real files, mappings and processes."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpiboot.runtime import segments

HOLDER = """import mmap, os, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
held = mmap.mmap(fd, 4096)
os.close(fd)
print("mapped", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def directory() -> Iterator[Path]:
    """A directory on the tmpfs itself; removed at the end."""
    made = segments.SHM / f"mpiboot-test-{uuid.uuid4().hex[:8]}"
    made.mkdir()
    yield made
    for one in made.iterdir():
        one.unlink()
    made.rmdir()


def segment(directory: Path, name: str) -> Path:
    path = directory / name
    path.write_bytes(bytes(4096))
    return path


def test_res_01_what_somebody_has_mapped_stays_until_he_is_dead(directory: Path) -> None:
    """A mapping alone holds it, as ranks do; after the holder's death it is removed, with its size."""
    path = segment(directory, "vader_segment.w1.0.c0ffee.0")
    argv = [sys.executable, "-c", HOLDER, str(path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdout
        assert holder.stdout.readline() == b"mapped\n"
        assert segments.clean(directory) == (0, 0)
        holder.kill()
        holder.wait()
    assert segments.clean(directory) == (1, 4096)
    assert not path.exists()


def test_res_01_what_is_open_stays(directory: Path) -> None:
    """A rank that is about to map it has it open."""
    path = segment(directory, "sm_segment.w1.0.c0ffee.0")
    with path.open("rb"):
        assert segments.clean(directory) == (0, 0)
    assert segments.clean(directory) == (1, 4096)


def test_res_01_what_is_not_of_an_mpi_stays(directory: Path, tmp_path: Path) -> None:
    """Other names, other kinds, links to what is elsewhere, and the files of other users."""
    other = segment(directory, "results")
    elsewhere = segment(tmp_path, "precious")
    (directory / "sm_segment.link").symlink_to(elsewhere)
    os.mkfifo(directory / "sm_segment.pipe")
    if os.geteuid() == 0:
        os.chown(segment(directory, "sm_segment.foreign"), 4321, 4321)
    before = sorted(directory.iterdir())
    assert segments.clean(directory) == (0, 0)
    assert sorted(directory.iterdir()) == before
    assert other.exists()
    assert elsewhere.exists()


def test_res_01_no_shared_memory_is_no_fault(tmp_path: Path) -> None:
    """A container may be without /dev/shm."""
    assert segments.clean(tmp_path / "nothing") == (0, 0)
