"""What the launcher computes to show the ranks' output: tags, entries in JSON, files that turn over."""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from bench.goal import OURS, THEIRS, Aim, Figures, Goal
from bench.pods import Bench
from mpiboot.link.wrap.output import frame
from mpiboot.model import rankset
from mpiboot.report.output import Output
from mpiboot.report.rankfiles import RankFiles
from mpiboot.report.recent import Recent
from mpiboot.report.shown import Look, Shown

_RANKS = 4
_PIECES = 2000  # of each rank, as its wrapper sends them
_LINE = b"x" * 79 + b"\n"
_PIECE = _LINE * 47
_CHUNK = 65536  # as the launcher reads them
_MIB = _RANKS * _PIECES * len(_PIECE) / (1 << 20)


def output(box: Bench) -> Figures:
    """Count the CPU of lines of 80 bytes of four ranks, and of `sed` that tags the same lines."""
    stream = b"".join(
        frame(b"nonce", rank, b"o", (1, serial, 1_700_000_000_000), _PIECE)
        for serial in range(1, _PIECES + 1)
        for rank in range(_RANKS)
    )
    plain = box.directory / box.name("lines")
    plain.write_bytes(_PIECE * _PIECES * _RANKS)
    ours, theirs = box.pair(
        lambda: _shown_ms(stream, tag=True), lambda: _cpu_ms("sed", "s/^/[0] /", str(plain))
    )
    with tempfile.TemporaryDirectory() as place:
        kept = _shown_ms(stream, directory=place)
    entries = _shown_ms(stream, json=True)
    return {OURS: ours, THEIRS: theirs, "JSON": entries, "files": kept}


def _shown_ms(
    stream: bytes, *, tag: bool = False, json: bool = False, directory: str = ""
) -> float:
    """Return the CPU milliseconds of a MiB that is shown to nobody."""
    files = None
    if directory:
        files = RankFiles(directory, most_mb=1, keep=1, append=False, complain=_fail)
    look = Look(tag=tag, json=json, ranks=rankset.read("all"))
    with _unseen():
        made = Output("nonce", Shown(look, None, Recent()), files, lambda _rank, _count: None)
        begun = time.thread_time()
        for at in range(0, len(stream), _CHUNK):
            made.feed(stream[at : at + _CHUNK])
        made.end()
        return (time.thread_time() - begun) * 1000 / _MIB


@contextlib.contextmanager
def _unseen() -> Iterator[None]:
    """Let our stdout go nowhere for a while."""
    kept = os.dup(1)
    with Path(os.devnull).open("wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def _cpu_ms(*argv: str) -> float:
    with subprocess.Popen(argv, stdout=subprocess.DEVNULL) as running:
        _, status, used = os.wait4(running.pid, 0)
        running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise RuntimeError(f"{argv[0]} ended with {running.returncode}")
    return (used.ru_utime + used.ru_stime) * 1000 / _MIB


def _fail(path: Path, fault: OSError) -> None:
    raise RuntimeError(f"{path}: {fault}")


GOALS: Mapping[str, Goal] = {
    "output": Goal(
        what="CPU of the launcher for a MiB of ranks' lines of 80 bytes, with tags",
        beside="`sed` that puts a tag before each",
        aims=(Aim(most=10), Aim(figure="JSON", most=40), Aim(figure="files", most=12)),
        run=output,
        unit="ms",
    ),
}
