"""A stand-in alone, before a program that shows what has become of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from mpiboot.plan import standins
from mpiboot.plan.ownjob import Job
from tests.helpers.ownjobs import STANDIN

FAKE = """#!/bin/sh
signals=$(sed -n 's/^SigIgn:\\s*//p; s/^SigBlk:\\s*//p' /proc/self/status)
exec {python} -IS -c '
import json, os, sys
seen = dict(pid=os.getpid(), argv=sys.argv[2:], env=dict(os.environ), signals=sys.argv[1].split())
print(json.dumps(seen), flush=True)
os.write(2, sys.stdin.buffer.read())
sys.exit(5)
' "$signals" "$@"
"""


@pytest.fixture
def stand_in(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A stand-in for an `mpirun` that shows itself; its private directory has a blank in its name."""
    real = tmp_path / "real" / "mpirun"
    real.parent.mkdir()
    real.write_text(FAKE.format(python=sys.executable))
    real.chmod(0o755)
    job = Job(
        dialect="Open MPI 5", version="5.0.11", hostfile="/h", ssh_config="/c", np=1,
        hosts=(("w1", 1),), **getattr(request, "param", {}),
    )  # fmt: skip
    call = (sys.executable, "-I", "-S", str(STANDIN))
    directory = tmp_path / "a b"
    (directory / "bin").mkdir(parents=True)
    for script in standins.lay_out(str(directory), {"mpirun": str(real)}, job, call):
        path = Path(script.path)
        path.write_text(script.text)
        path.chmod(script.mode)
    return directory / "bin/mpirun"


def test_becomes_the_real_program(stand_in: Path) -> None:
    """Same process, same streams, same code, words and variables, and no signal left ignored."""
    env = {
        "PATH": f"{stand_in.parent}:/usr/bin",
        "LD_LIBRARY_PATH": "/nowhere: x",
        "PYTHONHOME": "/nowhere",
        "OMPI_MCA_btl": "self",
        "NOT_UTF8": os.fsdecode(b"\xff"),
    }
    words = ["-np", "1", "x", "", "a b", "$HOME", "ü", os.fsdecode(b"\xff")]
    pipe = subprocess.PIPE
    popen = subprocess.Popen([stand_in, *words], env=env, stdin=pipe, stdout=pipe, stderr=pipe)
    out, err = popen.communicate(b"input")
    assert (popen.returncode, err) == (5, b"input")
    seen = json.loads(out)
    assert seen["pid"] == popen.pid
    assert seen["argv"] == words
    assert seen["env"]["PATH"] == "/usr/bin"
    assert seen["env"]["PRTE_MCA_plm_ssh_args"] == "-F /c"
    kept = {name: env[name] for name in env if name != "PATH"}
    assert {name: seen["env"].get(name) for name in kept} == kept
    assert not [name for name in seen["env"] if name.startswith("MPIBOOT_")]
    # 32 and 33 are libc's own: whoever was started by its posix_spawn, as make does, ignores them.
    # What these tests themselves were told to ignore, as INT by a shell's `&`, is handed on as it is.
    ours = {
        number for number in signal.valid_signals() if signal.getsignal(number) is signal.SIG_IGN
    }
    handed_on = sum(1 << (number - 1) for number in ours - {signal.SIGPIPE, signal.SIGXFSZ})
    left = {int(mask, 16) & ~(3 << 31) & ~handed_on for mask in seen["signals"]}
    assert left == {0}


def test_real_program_is_gone(stand_in: Path, tmp_path: Path) -> None:
    """A program that vanished is named, with the shell's own code."""
    (tmp_path / "real/mpirun").unlink()
    done = subprocess.run([stand_in], env={}, capture_output=True, text=True, check=False)
    assert done.returncode == 127
    assert f"{tmp_path}/real/mpirun: No such file or directory" in done.stderr


@pytest.mark.parametrize("stand_in", [{"ignore_sigpipe": True}], indirect=True, ids=["ignored"])
def test_a_launcher_that_dies_of_sigpipe(stand_in: Path) -> None:
    """Intel's, when its own proxies end before it has told them to: there it is ignored."""
    done = subprocess.run([stand_in], env={}, input="", capture_output=True, text=True, check=False)
    masks = [int(mask, 16) for mask in json.loads(done.stdout)["signals"]]
    assert [bool(mask & 1 << (signal.SIGPIPE - 1)) for mask in masks] == [False, True], masks


@pytest.mark.parametrize("stand_in", [{}, {"json_log": True}], indirect=True, ids=["text", "json"])
def test_log(stand_in: Path, request: pytest.FixtureRequest) -> None:
    """The log says what was changed, in the form that the agent's own has."""
    words = [str(stand_in), "-bind-to", "none", "x"]
    done = subprocess.run(words, env={}, input="", capture_output=True, text=True, check=False)
    (line,) = done.stderr.splitlines()
    if "json" in request.node.name:
        entry = json.loads(line)
        assert (entry["role"], entry["level"]) == ("launcher", "info")
        line = f"[mpiboot launcher] {entry['message']}"
    assert line.startswith("[mpiboot launcher] -bind-to none → --bind-to none: ")
