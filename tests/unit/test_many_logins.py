"""What thousands of logins share: the interpreter, and the job's own key."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import paramiko
import pytest

from mpiboot.link import sshlibrary


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    before = sys.getswitchinterval()
    yield
    sys.setswitchinterval(before)


@pytest.mark.parametrize(
    ("leases", "seconds"),
    [(0, 0.001), (256, 0.001), (257, 0.005), (1024, 0.005), (1025, 0.05), (10_000, 0.05)],
)
def test_threads_of_many_leases_ask_for_the_interpreter_seldom(leases: int, seconds: float) -> None:
    """A thousand threads that wake a thousand times a second would do nothing else."""
    sshlibrary.give_way(leases)
    assert sys.getswitchinterval() == pytest.approx(seconds)


def test_the_jobs_key_is_read_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """For all logins of an attempt; the next one may have laid another."""
    path = tmp_path / "key"
    reads: list[str] = []
    read = paramiko.PKey.from_path

    def counted(where: str) -> paramiko.PKey:
        reads.append(where)
        return read(where)

    monkeypatch.setattr(paramiko.PKey, "from_path", staticmethod(counted))
    for attempt in (1, 2):
        made = paramiko.ECDSAKey.generate()
        made.write_private_key_file(str(path))
        os.utime(path, ns=(attempt, attempt))
        keys = [sshlibrary.key(str(path)) for _ in range(3)]
        assert [key.get_base64() for key in keys] == [made.get_base64()] * 3
        assert reads == [str(path)] * attempt
