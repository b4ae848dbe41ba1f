"""JSON lines, versioned, both directions; whatever else arrives is counted and dropped."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping

from mpiboot.model import fields
from mpiboot.model.facts import Facts, from_json
from mpiboot.model.fields import sent_s, whole
from mpiboot.model.memory import Memory
from mpiboot.model.record import dataclass, field
from mpiboot.plan.announcing import Announcement
from mpiboot.plan.clocks import Clock
from mpiboot.plan.evidence import Testimony
from mpiboot.plan.fencing import Claim
from mpiboot.plan.release import Over

VERSION = 2
MAX_LINE = 65536
_MOST_LATE_MS = 1 << 50

HELLO = "hello"  # launcher → worker: who I am, which attempt
FACTS = "facts"  # worker → launcher: what I have
BEAT = "beat"  # both
PHASE = "phase"  # launcher → worker: what the job is doing
OVER = "over"  # launcher → worker: the attempt is over
BYE = "bye"  # worker → launcher: understood, leaving or staying
PROBE = "probe"  # probe → agent, and its answer
RANK = "rank"  # a rank's wrapper → the agent beside it → launcher: it has started, it has ended
CALL = "call"  # launcher → worker: connect to this address and port; and its answer
CLAIM = "claim"  # launcher → worker: this attempt, of this generation, is yours; and its answer
WITNESS = "witness"  # launcher → worker: what have you seen of the attempt? and its answer
NOTICE = "notice"  # worker → launcher: something happened here: I am told to stop, sshd is down
SIGNAL = "signal"  # launcher → worker: send the ranks here a signal
LOOK = "look"  # launcher → worker: how much CPU time has each rank used? and its answer
STACKS = "stacks"  # launcher → worker: where do the ranks stand? and its answer
STOPPING = "stopping"  # event of a notice: this worker was told to stop
DAEMON = "daemon"  # event of a notice: the MPI daemon above the ranks here died
SUPERSEDED = "superseded"  # event of a notice: a newer launcher has taken this worker
CONTROL = "control"  # a command in the launcher's container → launcher, and its answer
USAGE = "usage"  # launcher → worker: what do your container and its ranks use? and its answer
VIEW = (
    "view"  # somebody in a container → its agent, worker → launcher: show the job; and parts of it
)
ANNOUNCE = "announce"  # a node → the launcher that it knows: here I am; and its answer
KINDS = (
    HELLO, FACTS, BEAT, PHASE, OVER, BYE, PROBE, RANK, CALL,
    CLAIM, WITNESS, NOTICE, SIGNAL, LOOK, STACKS, CONTROL, ANNOUNCE, USAGE, VIEW,
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Message:
    """One line of the link: its kind and the fields beside it."""

    kind: str
    body: Mapping[str, object] = field(default_factory=dict)

    def encode(self) -> bytes:
        """Render the line, newline included."""
        data = {"v": VERSION, "kind": self.kind, **self.body}
        return json.dumps(data, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"

    def text(self, key: str) -> str:
        """Return a short printable text field, empty when it is none."""
        return fields.text(self.body, key, 1024)


def decode(line: bytes) -> Message | None:
    """Read one line; None for anything that is not a message of this version."""
    if len(line) > MAX_LINE:
        return None
    try:
        data = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict) or data.get("v") != VERSION or data.get("kind") not in KINDS:
        return None
    body = {key: value for key, value in data.items() if key not in ("v", "kind")}
    return Message(kind=data["kind"], body=body)


def foreign_version(line: bytes) -> str:
    """Tell which other version of the link a line speaks; empty for ours, and for no message."""
    try:
        data = json.loads(line[:MAX_LINE])
    except (ValueError, RecursionError):
        return ""
    version = data.get("v") if isinstance(data, dict) else None
    known = isinstance(version, int | str) and version != VERSION
    return fields.printable(str(version)[:20]) if known else ""


def facts_message(facts: Facts, ticket: int) -> Message:
    """Wrap a worker's facts, and the number that the launcher has drawn there."""
    return Message(kind=FACTS, body={"facts": facts.to_json(), "ticket": ticket})


def read_facts(message: Message) -> Facts:
    """Unwrap a worker's facts; what is wrong in them is left out."""
    data = message.body.get("facts")
    return from_json(data if isinstance(data, dict) else {})


def claim_message(claim: Claim) -> Message:
    """Wrap a launcher's claim of a worker."""
    body = {"generation": claim.generation, "id": claim.launcher_id, "name": claim.name}
    return Message(kind=CLAIM, body=body)


def read_claim(message: Message) -> Claim | None:
    """Unwrap a claim; None when it is none."""
    generation, launcher_id = whole(message.body, "generation", 1 << 53), message.text("id")
    if generation is None or not launcher_id:
        return None
    return Claim(generation=generation, launcher_id=launcher_id, name=message.text("name"))


def memory_of(body: Mapping[str, object]) -> Memory:
    """Unwrap what a heartbeat says of its container's memory."""
    used, limit, kills = (whole(body, key, 1 << 60) for key in ("used", "limit", "kills"))
    return Memory(used_bytes=used, limit_bytes=limit, oom_kills=kills)


def testimony_message(said: Testimony) -> Message:
    """Wrap what a worker has seen of an attempt."""
    return Message(kind=WITNESS, body=dict(vars(said)))


def read_testimony(message: Message) -> Testimony:
    """Unwrap a testimony; what is wrong in it counts as not known."""
    names = (
        "peak_bytes", "limit_bytes", "sessions", "sshd_restarts", "forks_refused", "pids_limit",
    )  # fmt: skip
    known = {name: whole(message.body, name, 1 << 60) or 0 for name in names}
    return Testimony(oom_kills=whole(message.body, "oom_kills", 1 << 60), **known)


def announce_message(said: Announcement) -> Message:
    """Wrap what a node says of itself."""
    return Message(kind=ANNOUNCE, body=dict(vars(said)))


def read_announcement(message: Message) -> Announcement | None:
    """Unwrap what a node says of itself; None when it is of the wrong form."""
    address, port = message.text("address"), whole(message.body, "port", 65535)
    index = whole(message.body, "index", 1 << 30)
    if not address or port is None or (index is None and message.body.get("index") is not None):
        return None
    return Announcement(address=address, port=port, index=index)


def heard_message(refused: str) -> Message:
    """Answer an announcement: why it was refused, or with nothing that it was heard."""
    return Message(kind=ANNOUNCE, body={"ok": not refused, "text": refused})


def warned_message(ranks: int) -> Message:
    """Answer the order to signal ranks with how many there were."""
    return Message(kind=SIGNAL, body={"ranks": ranks})


def let_go_message() -> Message:
    """Tell a worker that its job comes, and that no lease is held until then."""
    return Message(kind=PHASE, body={"stage": "waiting", "leased": False})


def over_message(over: Over) -> Message:
    """Wrap the end of an attempt."""
    return Message(kind=OVER, body=dict(vars(over)))


def read_over(message: Message) -> Over | None:
    """Unwrap the end of an attempt; None when a field is missing or of the wrong type."""
    code = whole(message.body, "code", 255)
    final, ran = message.body.get("final"), message.body.get("ran")
    if code is None or not isinstance(final, bool) or not isinstance(ran, bool):
        return None
    return Over(code=code, final=final, ran=ran, stay=message.body.get("stay") is True)


_OF_RANK = (
    "rank", "size", "pid", "event", "code", "signal", "why", "text", "count", "time_ms",
    "stderr", "oom", "limit", "peak",
)  # fmt: skip
_LONGEST = {"stderr": 4096}


def stamped(body: Mapping[str, object], clock: Clock | None = None) -> dict[str, object]:
    """Add when it is sent, and how late the least late message of the other side was."""
    least = None if clock is None else clock.least
    told = {} if least is None else {"late_ms": round(least * 1000)}
    return {**body, "time_ms": time.time_ns() // 1_000_000, **told}


def note_time(message: Message, clock: Clock) -> None:
    """Have a clock take note of a message that was stamped."""
    sent = sent_s(message.body)
    if sent is not None:
        wall = time.time()  # noqa: TID251 - to compare with what another machine's clock says
        clock.hear(sent, wall)
    late_ms = message.body.get("late_ms")
    if isinstance(late_ms, int) and abs(late_ms) < _MOST_LATE_MS:
        clock.tell(late_ms / 1000)


def rank_message(body: Mapping[str, object]) -> Message:
    """Pass on what a wrapper reports: the fields that are meant to be there, and short ones only."""
    kept = {
        key: value[: _LONGEST.get(key, 300)] if isinstance(value, str) else value
        for key, value in body.items()
        if key in _OF_RANK and isinstance(value, str | int | float)
    }
    return Message(kind=RANK, body=kept)
