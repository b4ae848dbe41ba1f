"""Benchmarks: what the kernel accounts is read in the units that it is written in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bench.pure import cpu_s
from bench.usage import Account, running_s, use, wakeups


def test_cgroups_of_both_versions(tmp_path: Path) -> None:
    """Version 1 counts nanoseconds, version 2 microseconds among other fields."""
    (tmp_path / "cpu.stat").write_text("nr_periods 0\nusage_usec 1500000\nuser_usec 7\n")
    assert Account(tmp_path).cpu_s() == 1.5
    (tmp_path / "cpuacct.usage").write_text("2500000000\n")
    assert Account(tmp_path).cpu_s() == 2.5


def test_who_joins_becomes_the_program(tmp_path: Path) -> None:
    """It joins before its program runs, whose words stay what they are; one that cannot join fails."""
    joined = Account(tmp_path).joined(("printf", "%s|", "a b", "$c"))
    done = subprocess.run(joined, check=True, capture_output=True, text=True)
    assert done.stdout == "a b|$c|"
    assert (tmp_path / "cgroup.procs").read_text() == "0\n"
    none = Account(tmp_path / "none").joined(("true",))
    assert subprocess.run(none, check=False, capture_output=True).returncode != 0


def test_own_use() -> None:
    """A process that lives has memory, threads and CPU; shared pages count for less."""
    own = use(os.getpid())
    assert own.rss_kib >= own.pss_kib > 1000
    assert own.threads >= 1
    assert own.descriptors >= 3
    assert running_s(os.getpid()) == pytest.approx(own.cpu_s, rel=0.5, abs=0.5)
    assert wakeups(os.getpid()) >= 0


def test_cpu_of_a_program() -> None:
    """Computing counts and sleeping does not; a failure is no figure."""
    busy = "import time\nwhile time.process_time() < 0.2: pass"
    assert 0.2 <= cpu_s((sys.executable, "-c", busy)) < 1.5
    with pytest.raises(RuntimeError, match="ended with 3"):
        cpu_s((sys.executable, "-c", "raise SystemExit(3)"))
