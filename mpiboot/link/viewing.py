"""A view of the job on the link: asked for in one message, told in parts that fit into one each."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Protocol

from mpiboot.link import messages
from mpiboot.link.messages import Message
from mpiboot.model.fields import whole
from mpiboot.runtime.within import within

_PART = 30_000  # characters: each may take two bytes more in a message
_MOST = 64 << 20  # of a whole view: 10,000 workers need a tenth of it
_ANSWER_S = 8.0  # a worker asks its launcher first
_LINE = 2 * messages.MAX_LINE


class Peer(Protocol):
    """The other end of a connection."""

    def send(self, message: Message) -> None:
        """Send it a line."""


ASK = Message(kind=messages.VIEW)


def ask(at: int) -> Message:
    """Ask a launcher for the part that begins at a character: only one is ever under way."""
    return Message(kind=messages.VIEW, body={"at": at})


def asked_at(message: Message) -> int:
    """Return where the part begins that a message asks for; the first one where it makes no sense."""
    return whole(message.body, "at", _MOST) or 0


def part(text: str, at: int, *, last: bool = False) -> Message:
    """Return the part of a view that begins at a character.

    Args:
        text: JSON in ASCII.
        at: where.
        last: whether it is the last view of a job, which nobody has asked for.
    """
    body = {"text": text[at : at + _PART], "more": at + _PART < len(text), "last": last}
    return Message(kind=messages.VIEW, body=body)


def parts(text: str, *, last: bool = False) -> Iterator[Message]:
    """Cut a view into messages, at least one.

    Args:
        text: JSON in ASCII.
        last: as for `part`.
    """
    return (part(text, at, last=last) for at in range(0, max(1, len(text)), _PART))


def tell(peer: Peer, text: str, *, last: bool = False) -> None:
    """Send a whole view to somebody who takes in what comes.

    Args:
        peer: the connection.
        text: JSON in ASCII.
        last: as for `part`.
    """
    for message in parts(text, last=last):
        peer.send(message)


def is_last(message: Message) -> bool:
    """Tell whether a message is a part of the last view of a job."""
    return message.body.get("last") is True


class Assembly:
    """Puts the parts of a view together again."""

    def __init__(self) -> None:
        self._parts: list[str] = []
        self.size = 0  # characters that have come

    def take(self, message: Message) -> str | None:
        """Take the next part; return the whole text with its last one, None before."""
        part = message.body.get("text")
        if not isinstance(part, str) or self.size + len(part) > _MOST:
            self._parts, self.size = [], 0
            return None
        self._parts.append(part)
        self.size += len(part)
        if message.body.get("more") is True:
            return None
        text = "".join(self._parts)
        self._parts, self.size = [], 0
        return text


async def views(path: Path, every_s: float) -> AsyncGenerator[str, None]:
    """Ask the agent at a socket again and again; yield each view as JSON until the agent has gone.

    Args:
        path: its socket.
        every_s: pause between an answer and the next question.

    Raises:
        OSError: nobody answers there, or it may not be reached.
        asyncio.TimeoutError: the agent is there, and does not answer in time.
    """
    reader, writer = await asyncio.open_unix_connection(str(path), limit=_LINE)
    assembly = Assembly()  # one for all: a wait may end between two parts
    try:
        while True:
            writer.write(ASK.encode())
            text = await within(_ANSWER_S, _read(reader, assembly))
            pause_until = time.monotonic() + every_s
            while text is not None:
                yield text
                # At the job's end it tells once more, unasked.
                try:
                    text = await within(pause_until - time.monotonic(), _read(reader, assembly))
                except asyncio.TimeoutError:
                    break
            else:
                return
    except ConnectionError:
        return
    finally:
        with contextlib.suppress(OSError):
            writer.close()


async def _read(reader: asyncio.StreamReader, assembly: Assembly) -> str | None:
    """Read one view; None when the connection ends before."""
    while line := await reader.readline():
        message = messages.decode(line)
        if message is not None and message.kind == messages.VIEW:
            text = assembly.take(message)
            if text is not None:
                return text
    return None
