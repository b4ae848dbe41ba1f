"""Calls of mpirun that share one DVM: it starts once, ends with a failure, and is done without."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mpiboot.link.dvm import is_prte
from mpiboot.plan import standins
from mpiboot.plan.ownjob import Job
from mpiboot.roles import dvmend
from tests.helpers.ownjobs import STANDIN

# Each writes down that it was started; a script's process has the script's name.
PRTE = """#!/bin/bash
echo prte >>{place}/starts
[ -e {place}/broken ] && exit 1
echo uri >"${{@: -1}}"
echo DVM ready
read -t 60 _ <>{place}/fifo
"""
MPIRUN = """#!/bin/bash
[ "$1" = --dvm ] && inside=inside && shift 2 || inside=alone
[ "$1 $2 $3" = "-np 1 true" ] && exit 0
echo "$inside $*"
exec "$@"
"""


class Rig:
    """A stand-in for an mpirun that can use a DVM; both are scripts."""

    def __init__(self, place: Path) -> None:
        self.place = place
        prte, mpirun = place / "prte", place / "mpirun"
        prte.write_text(PRTE.format(place=place))
        mpirun.write_text(MPIRUN)
        job = Job(
            dialect="Open MPI 5", version="5.0.7", hostfile="/h", ssh_config="/c", np=1,
            hosts=(("w1", 1),), dvm=str(place / "dvm"), prte=str(prte),
        )  # fmt: skip
        os.mkfifo(place / "fifo")
        (place / "bin").mkdir()
        call = (sys.executable, "-I", "-S", str(STANDIN))
        for script in standins.lay_out(str(place), {"mpirun": str(mpirun)}, job, call):
            Path(script.path).write_text(script.text)
            Path(script.path).chmod(script.mode)
        for program in (prte, mpirun):
            program.chmod(0o755)

    def begin(self, *words: str, **env: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [str(self.place / "bin/mpirun"), *words], stdout=-1, stderr=-1, text=True,
            env={"PATH": os.environ["PATH"], **env},
        )  # fmt: skip

    def call(self, *words: str, **env: str) -> tuple[int, str, str]:
        begun = self.begin(*words, **env)
        out, err = begun.communicate(timeout=30)
        return begun.returncode, out, err

    @property
    def starts(self) -> int:
        return (self.place / "starts").read_text().count("prte")

    def pids(self) -> list[int]:
        """Return the DVMs of this test that run."""
        return [
            int(entry.name)
            for entry in Path("/proc").iterdir()
            if entry.name.isdigit()
            and is_prte(int(entry.name))
            and str(self.place).encode() in (entry / "cmdline").read_bytes()
        ]


@pytest.fixture
def rig(tmp_path: Path) -> Iterator[Rig]:
    """One in a directory of its own; its DVM ends with the test, as with a command."""
    made = Rig(tmp_path)
    yield made
    asyncio.run(dvmend.end(str(tmp_path / "dvm")))
    assert made.pids() == []
    assert not (tmp_path / "dvm").exists()


def test_it_starts_once(rig: Rig) -> None:
    """Calls one after the other share it, and the end of the command ends it."""
    for _ in range(3):
        assert rig.call("echo", "a") == (0, "inside echo a\na\n", "")
    assert rig.starts == 1
    assert len(rig.pids()) == 1


def test_a_failure_takes_it_along(rig: Rig) -> None:
    """The code is mpirun's; the next call begins anew."""
    assert rig.call("sh", "-c", "exit 7")[0] == 7
    assert rig.pids() == []
    assert rig.call("sh", "-c", "kill -9 $$")[0] == 137
    assert rig.call("true")[:2] == (0, "inside true\n")
    assert rig.starts == 3


def test_several_at_once(rig: Rig) -> None:
    """One of them has it; the others are ordinary, and say so."""
    begun = [rig.begin("sleep", "2") for _ in range(3)]
    outs = [one.communicate(timeout=30) for one in begun]
    assert [one.returncode for one in begun] == [0, 0, 0]
    assert sorted(out for out, _ in outs) == ["alone sleep 2\n"] * 2 + ["inside sleep 2\n"]
    assert sum("another mpirun runs there" in err for _, err in outs) == 2
    assert rig.starts == 1


def test_it_cannot_be_started(rig: Rig) -> None:
    """Every call is an ordinary one; the first says why, and nobody tries again."""
    (rig.place / "broken").touch()
    code, out, err = rig.call("echo", "a")
    assert (code, out) == (0, "alone echo a\na\n")
    assert "as all later ones; the DVM: it could not be started" in err
    assert rig.call("echo", "b") == (0, "alone echo b\nb\n", "")
    assert rig.starts == 1


def test_it_has_died(rig: Rig) -> None:
    """As above, where it died between two calls."""
    rig.call("true")
    os.kill(rig.pids()[0], signal.SIGKILL)
    code, out, err = rig.call("echo", "a")
    assert (code, out) == (0, "alone echo a\na\n")
    assert "it has died" in err
    assert rig.call("echo", "b") == (0, "alone echo b\nb\n", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_call_is_told_to_stop(rig: Rig, number: int) -> None:
    """The DVM ends, with the ranks that only it can end."""
    rig.call("true")
    (pid,) = rig.pids()
    begun = rig.begin("sh", "-c", f"while [ -s /proc/{pid}/cmdline ]; do sleep 0.1; done; exit 9")
    assert begun.stdout is not None
    assert begun.stdout.readline().startswith("inside")
    begun.send_signal(number)
    begun.communicate(timeout=10)
    assert begun.returncode == 1
    assert rig.pids() == []


def test_a_call_is_killed(rig: Rig) -> None:
    """Its ranks may still hold the slots: the next call does not use that DVM."""
    begun = rig.begin("sleep", "5")
    assert begun.stdout is not None
    assert begun.stdout.readline().startswith("inside")
    first = rig.pids()
    begun.kill()
    begun.communicate(timeout=30)
    assert rig.call("true")[:2] == (0, "inside true\n")
    assert not set(first) & set(rig.pids())
    assert rig.starts == 2


def test_other_variables(rig: Rig) -> None:
    """What the runtime has read once cannot change: such a call is an ordinary one."""
    rig.call("true", PRTE_MCA_a="1")
    code, out, err = rig.call("true", PRTE_MCA_a="2")
    assert (code, out) == (0, "alone true\n")
    assert "variables of its runtime have changed" in err
    assert rig.call("true", PRTE_MCA_a="1", OMPI_MCA_b="1")[:2] == (0, "inside true\n")
    assert rig.starts == 1
