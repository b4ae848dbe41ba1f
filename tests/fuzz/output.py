"""What MPI and ranks print: frames lose no byte, and no words bring about more than a verdict."""

from __future__ import annotations

import json

from mpiboot import mpi
from mpiboot.errors import ConfigError
from mpiboot.mpi import DIALECTS
from mpiboot.plan import hooks, lastwords, verdict
from mpiboot.plan.entries import MOST_BYTES, Entries
from mpiboot.plan.evidence import Evidence
from mpiboot.plan.frames import Frames, Order, Record, Text
from mpiboot.plan.hooks import Said
from mpiboot.plan.layout import Layout, Place
from mpiboot.plan.lines import Lines
from mpiboot.plan.ranks import Ranks
from mpiboot.plan.screen import Screen

NONCE = "5f3c9a"
SEEDS = (
    b"\x1e5f3c9a 1 o 7 1 1700000000000 3\x1fab\n\x1d\n\x1e5f3c9a 1 z 7 1 1700000000000 0\x1f\x1d\nmpirun: x\n",
    b"\x1e5f3c9a 1 h 7 1 5 2\x1fw1\x1d\n\x1e5f3c9a 1 e 7 2 5 8\x1f\r9%\r\r10%\x1d\n",
    b"\x1e5f3c9a -1 e 7 2 5 4\x1f\x1bn\x1be\x1d\n",
    b"Primary job  terminated normally, but 1 process\n  Process name: [[40295,1],2]\n  Exit code:  3\n",
    b"mpirun noticed that process rank 2 with PID 17 on node w2 exited on signal 9 (Killed).\n",
    b"MPI_ABORT was invoked on rank 2 in communicator MPI_COMM_WORLD\nwith errorcode 7.\n",
    b"MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD Proc: [[1,1],1] Errorcode: -5\n",
    b"ORTE has lost communication with a remote daemon.\n Remote daemon: [[1,0],1] on node w1\n",
    b"Process name: [prterun-l-12@1,3]\nExit code:    4\nprted: command not found\n",
    b"=   PID 77 RUNNING AT w2\n=   EXIT CODE: 9\nTHE EXIT STRING: Killed (signal 9)\n",
    b"Abort(7) on node 2 (rank 2 in comm 0): application called MPI_Abort(MPI_COMM_WORLD, 7) - process 2\n",
    b"= RANK 1 PID 9 RUNNING AT w1\n= KILLED BY SIGNAL: 11 (Segmentation fault)\n",
    b"[proxy:0:0@w1] execvp error on file ./x (No such file or directory)\n",
    b"ssh: connect to host w1 port 22: Connection refused\n",
    b"mpirun (Open MPI) 4.1.4\n", b"HYDRA build details:\n    Version:  4.2.1\n",
    b"export A=b\nexport PATH=/x\n\x1b[31mred\x1b[0m\r 10%\r 20%\n",
)  # fmt: skip
_LAYOUT = Layout(
    places=(Place(name="w1", node="w1", slots=2, address="10.0.0.1", port=22, user="", why=""),),
    np=2,
)


def judge(data: bytes) -> None:
    """Read the bytes as mpirun's output: whole, in two pieces, as frames and as words."""
    whole, halves = _frames([data]), _frames([data[: len(data) // 2], data[len(data) // 2 :]])
    assert _text(whole) == _text(halves)
    assert [one for one in whole if isinstance(one, Record)] == [
        one for one in halves if isinstance(one, Record)
    ]
    _show([one for one in whole if isinstance(one, Record)])
    text = data.decode(errors="replace")
    assert all(line.isprintable() for line in lastwords.lines(text))
    _judge(text)
    said = Said(takes=True)
    for line in data.split(b"\n"):
        shown = said.hear(line, stdout=True)
        assert shown is None or shown.isprintable()
    assert len(said.variables) <= hooks.MOST_VARIABLES


def _show(records: list[Record]) -> None:
    """Show records as text and as entries: no more than there is, and nothing that cannot be read."""
    order, lines, shown = Order(), Lines(), list[Record]()
    for record in (*(due for one in records for due in order.add(one)), *order.end()):
        shown += lines.add(record, 0.0)
    shown += lines.end()
    assert sum(len(one.data) for one in shown) <= sum(len(one.data) for one in records)
    screen, entries = Screen(tag=True, stamp=True), Entries(1, "here")
    for one in shown:
        if one.stream == "h":
            entries.place(one)
            continue
        assert screen.show(one).count(b"\n") >= one.data.count(b"\n") - 1
        for line in entries.show(one).splitlines():
            assert len(line) < MOST_BYTES
            assert json.loads(line)["attempt"] == 1


def _judge(text: str) -> None:
    try:
        mpi.detect(text, "mpirun")
    except ConfigError as fault:
        assert "\n" not in str(fault)
    for dialect in DIALECTS:
        for code in (0, 1):
            evidence = Evidence(
                code=code, halt=None, stderr=text, lost=(), leased=1, workers=1, ranks=Ranks(np=2)
            )
            outcome = verdict.judge(evidence, dialect, _LAYOUT)
            assert 0 <= outcome.code <= 255
            assert code == 0 or outcome.code != 0, "no words make a success of a failure"


def _frames(chunks: list[bytes]) -> list[Text | Record]:
    frames = Frames(NONCE)
    return [one for chunk in chunks for one in frames.feed(chunk)] + frames.end()


def _text(found: list[Text | Record]) -> bytes:
    return b"".join(one.data for one in found if isinstance(one, Text))
