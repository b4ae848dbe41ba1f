"""What a line of sshd's log means, and whether it is shown."""

from __future__ import annotations

import enum
import re


class Line(enum.Enum):
    """Kinds of lines."""

    ACCEPTED = "accepted"
    REJECTED = "rejected"
    BARRED = "barred"  # another user, or from where nobody may log in
    CLOSED = "closed"
    ERROR = "error"
    SESSION = "session"  # one for a command, as mpirun's daemons are started
    OTHER = "other"


# Numbers of Python's logging levels; the module is an effect, so it is not imported for them.
_LEVELS = {
    Line.ACCEPTED: 20,
    Line.REJECTED: 30,
    Line.BARRED: 30,
    Line.CLOSED: 10,
    Line.ERROR: 30,
    Line.SESSION: 10,
    Line.OTHER: 10,
}

_TOLD = 10
_ALIKE = 256  # kinds of lines that are counted one by one; all others together
_VARYING = re.compile(r"(?<=#)\d+|(?<=\]:)\d+|(?<=port )\d+|\d+ connections|\d\d:\d\d:\d\d")

_LOOPBACK = re.compile(r"(?<![\d.])127\.0\.0\.1 port \d")

# How sshd tells the end of a connection that never logged in; each has one such line.
_UNPROVEN = re.compile(
    r"(?:(?:closed|reset) by|Disconnected from|Disconnecting) (?:authenticating|invalid) user "
)

_KINDS = (
    (Line.ACCEPTED, re.compile(r"Accepted \S+ for ")),
    (Line.BARRED, re.compile(r"^User \S{1,64} from \S{1,64} not allowed because not listed")),
    (
        Line.REJECTED,
        re.compile(
            r"Failed \S+ for |Invalid user |not allowed|Authentication refused|"
            r"(?:closed|reset) by (?:authenticating|invalid) user|maximum authentication attempts"
        ),
    ),
    (
        Line.CLOSED,
        re.compile(r"Close session|Disconnected from|Connection closed|Received disconnect"),
    ),
    (Line.SESSION, re.compile(r"^Starting session: (?:command|shell|forced-command) ")),
    (
        Line.ERROR,
        re.compile(r"^(?:error|fatal)\b|Address already in use|drop connection|throttling"),
    ),
)


def by_loopback(line: str) -> bool:
    """Tell whether a line is of a connection from this very container, as a worker's proof makes it."""
    return bool(_LOOPBACK.search(line))


def refused(line: str) -> bool:
    """Tell whether a line ends a login that was refused: of those with a reason one has several."""
    return bool(_UNPROVEN.search(line))


def classify(line: str) -> Line:
    """Tell the kind of a line."""
    return next((kind for kind, pattern in _KINDS if pattern.search(line)), Line.OTHER)


def shown(kind: Line, level: str) -> bool:
    """Tell whether a kind is shown at an sshd LogLevel; INFO is one line a login, and all faults."""
    if level in ("VERBOSE", "DEBUG"):
        return True
    if level == "QUIET":
        return False
    if level == "INFO":
        return kind not in (Line.OTHER, Line.SESSION)
    return kind in (Line.ERROR, Line.BARRED)


class Repeats:
    """Counts lines that are alike but for ports and counts: nobody may fill the log by knocking."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def muted(self, kind: Line, line: str) -> bool:
        """Tell whether a line about who was not let in has been told often enough.

        The first ten are told, then each whose number is a power of two.
        """
        if kind not in (Line.REJECTED, Line.BARRED, Line.ERROR):
            return False
        alike = _VARYING.sub("", line)
        if alike not in self._counts and len(self._counts) >= _ALIKE:
            alike = ""
        count = self._counts[alike] = self._counts.get(alike, 0) + 1
        return count > _TOLD and count & (count - 1) != 0


def severity(kind: Line, level: str) -> int:
    """Return the logging level of a shown line; who asks for more of sshd's log gets to see it."""
    return max(20, _LEVELS[kind]) if level in ("VERBOSE", "DEBUG") else _LEVELS[kind]
