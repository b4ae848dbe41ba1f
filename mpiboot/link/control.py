"""Ask something of the launcher in this container, over its own socket, and hear its answers."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from pathlib import Path

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Lease
from mpiboot.model.record import dataclass
from mpiboot.plan.modes import Asked, Verb

ACCEPTED, REFUSED, DONE = "accepted", "refused", "done"
_MOST_WORDS = 10_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What the launcher says.

    Attributes:
        state: accepted, refused or done.
        text: in words.
        code: of the job, or 0, when it is done.
    """

    state: str
    text: str
    code: int = 0


def asked_message(asked: Asked) -> Message:
    """Wrap what somebody asks."""
    body = {"do": asked.verb.value, "command": list(asked.command), "release": asked.release}
    return Message(kind=messages.CONTROL, body=body)


def read_asked(message: Message) -> Asked | None:
    """Unwrap what somebody asks; None when it makes no sense."""
    words, verb = message.body.get("command", []), message.text("do")
    if verb not in {one.value for one in Verb} or not isinstance(words, list):
        return None
    if len(words) > _MOST_WORDS or not all(isinstance(one, str) for one in words):
        return None
    release = message.body.get("release") is True
    return Asked(verb=Verb(verb), command=tuple(words), release=release)


def answer(client: Lease, said: Answer) -> None:
    """Tell the one who asked; who does not listen any more is let go."""
    client.send(Message(kind=messages.CONTROL, body={**vars(said), "text": said.text[:1000]}))


def refuse_all(client: Lease, _message: Message) -> None:
    """Answer for an agent that is no launcher."""
    text = "a worker runs here; ask in the launcher's container"
    answer(client, Answer(state=REFUSED, text=text))


async def converse(path: Path, asked: Asked) -> AsyncGenerator[Answer, None]:
    """Ask, and yield each answer until there are no more.

    Args:
        path: the launcher's socket.
        asked: what; must fit into one message.

    Raises:
        OSError: nobody answers there, or it may not be reached.
        ValueError: the command is too long.
    """
    line = asked_message(asked).encode()
    if len(line) > messages.MAX_LINE:
        raise ValueError(f"the command has {len(line)} bytes; {messages.MAX_LINE} is the most")
    reader, writer = await asyncio.open_unix_connection(str(path), limit=messages.MAX_LINE)
    try:
        writer.write(line)
        while line := await reader.readline():
            message = messages.decode(line)
            if message is not None and message.kind == messages.CONTROL:
                yield _read(message)
    finally:
        with contextlib.suppress(OSError):
            writer.close()


def _read(message: Message) -> Answer:
    code = message.body.get("code")
    known = isinstance(code, int) and 0 <= code <= 255
    return Answer(
        state=message.text("state"),
        text=message.text("text"),
        code=code if known else 1,  # type: ignore[arg-type]
    )
