"""The link's lines in both directions: messages whose every reader gives a value in bounds, or none."""

from __future__ import annotations

from mpiboot.link import control, messages
from mpiboot.link.messages import MAX_LINE, Message
from mpiboot.model.announced import Announced
from mpiboot.model.fields import whole
from mpiboot.model.hosts import Host
from mpiboot.plan import announcing, layout
from mpiboot.plan.announcing import Board
from mpiboot.plan.clocks import Clock
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.ranks import Book

_BODIES: tuple[tuple[str, dict[str, object]], ...] = (
    ("hello", {"launcher": "l", "id": "a1", "time_ms": 1700000000000, "late_ms": -3}),
    ("facts", {"ticket": 1, "facts": {"hostname": "w1", "addresses": ["10.0.0.1"], "cpus": 1.5, "gpus": 2,
               "networks": [{"name": "eth0", "cidr": "10.0.0.1/24"}], "python": "/usr/bin/python3",
               "wrapper": "/opt/rank.py", "nofile": -1, "cma": True, "mpi": "Open MPI 4.1.4"}}),
    ("beat", {"used": 1, "limit": 2, "kills": 0}),
    ("rank", {"rank": 0, "event": "started", "size": 2, "pid": 7, "wrapper": 6, "err": 5}),
    ("rank", {"rank": 0, "event": "ended", "code": 1, "stderr": "Traceback\n\x1b[31mred", "oom": True}),
    ("rank", {"rank": 1, "event": "ended", "signal": 9, "limit": 100, "peak": 99}),
    ("claim", {"generation": 2, "id": "a1", "name": "l"}),
    ("witness", {"oom_kills": 1, "peak_bytes": 2, "limit_bytes": 3, "sessions": 4, "sshd_restarts": 0}),
    ("over", {"code": 0, "final": True, "ran": True, "stay": False}),
    ("announce", {"address": "10.0.0.2", "port": 22, "index": 1}),
    ("control", {"do": "run", "command": ["python", "a b"], "release": True}),
    ("call", {"address": "10.0.0.1", "port": 61000}),
)  # fmt: skip
SEEDS = (
    *(Message(kind=kind, body=body).encode() for kind, body in _BODIES),
    b"".join(Message(kind=kind, body=body).encode() for kind, body in _BODIES),
    b'{"v":3,"kind":"hello"}\n',
)


def judge(data: bytes) -> None:
    """Read the bytes as lines, and give each message to all who read any."""
    book, clock = Book(4, slots={"w": 2}), Clock()
    board = Board(source=Announced(count=3, own=0))
    for line in data.split(b"\n"):
        assert len(messages.foreign_version(line)) <= 20
        assert messages.foreign_version(line).isprintable()
        message = messages.decode(line)
        if message is None:
            continue
        assert messages.decode(message.encode()) == message
        board = _read(message, board)
        messages.note_time(message, clock)
        book.hear("w", message.body, 1.0, 1.7e9, clock)
    seen = book.ranks()
    assert all(0 <= rank < 4 for rank in seen.started)
    assert all(0 <= end.status <= 255 for end in seen.ends)
    assert all(line.isprintable() for end in seen.ends for line in (*end.stderr, end.detail))


def _read(message: Message, board: Board) -> Board:
    facts = messages.read_facts(message)
    assert messages.read_facts(messages.facts_message(facts, 1)) == facts
    assert 1 <= facts.auto_slots <= 8192
    for word in (facts.python, facts.wrapper, facts.daemon, facts.mpi_path, facts.link):
        assert word == "" or (word.startswith("/") and word.isprintable())
    (place,) = layout.settle(
        [Seen(host=Host(name="w"), reach=Reach.READY, address="10.0.0.1", port=22, facts=facts)],
        own_hostname="l", slots="auto", calls="auto",
    )  # fmt: skip
    assert place.node == "w"
    assert message.text("launcher").isprintable()
    messages.read_claim(message)
    messages.read_testimony(message)
    messages.read_over(message)
    messages.memory_of(message.body)
    whole(message.body, "ticket", 1 << 53)
    assert len(messages.rank_message(message.body).encode()) <= MAX_LINE
    asked = control.read_asked(message)
    if asked is not None:
        again = control.read_asked(control.asked_message(asked))
        assert again == asked
    said = messages.read_announcement(message)
    if said is not None:
        board = announcing.take(board, said, ()).board
        assert len(board.nodes) <= board.source.awaited
    return board
