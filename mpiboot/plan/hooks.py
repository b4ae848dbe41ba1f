"""Which hooks run, what they are told, what their output means, and what their end means."""

from __future__ import annotations

import enum
import re
import signal as signals
from collections.abc import Iterable, Mapping, Sequence

from mpiboot.errors import ConfigError
from mpiboot.model.outcome import Outcome
from mpiboot.model.record import dataclass, field

MARK = "export "
OWN = "MPIBOOT_"
MOST_VARIABLES = 256
MOST_VALUE = 32 * 1024  # bytes; the kernel takes 128 KiB, and sshd's configuration has to carry it
MOST_LINES = 200
MOST_SHOWN = 1000  # characters of one line

# What editors, package managers and volumes leave beside what is meant.
_LEFT_BEHIND = (
    "~", ".bak", ".orig", ".rej", ".swp", ".tmp", ".old", ".disabled", ".dpkg-old", ".dpkg-new",
    ".dpkg-dist", ".rpmnew", ".rpmsave", ".rpmorig",
)  # fmt: skip
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class Kind(str, enum.Enum):
    """When a hook runs; also the name of its directory."""

    PRE_START = "pre-start"
    POST_STOP = "post-stop"


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One name in a directory of hooks.

    Attributes:
        name: without the directory.
        file: whether it is a regular file, or a link to one.
        executable: whether this user may execute it.
    """

    name: str
    file: bool
    executable: bool


@dataclass(frozen=True, kw_only=True)
class Choice:
    """What runs, in order, and what looks like a hook and does not run."""

    run: Sequence[str]
    not_executable: Sequence[str]


def choose(entries: Iterable[Entry]) -> Choice:
    """Choose the hooks of a directory as run-parts would, in the order of their names."""
    files = sorted((one for one in entries if one.file and _meant(one.name)), key=_by_bytes)
    return Choice(
        run=[one.name for one in files if one.executable],
        not_executable=[one.name for one in files if not one.executable],
    )


def _meant(name: str) -> bool:
    return not name.startswith(".") and not name.endswith(_LEFT_BEHIND)


def _by_bytes(entry: Entry) -> bytes:
    return entry.name.encode(errors="surrogateescape")


def variables(
    kind: Kind, *, role: str, hostname: str, hostfile: str, np: int, outcome: Outcome | None
) -> dict[str, str]:
    """Return what a hook is told beside the environment of the job.

    Args:
        kind: when it runs.
        role: of this container.
        hostname: of this container.
        hostfile: path of mpirun's hostfile; empty where there is none (yet).
        np: ranks of the job; 0: not known (yet).
        outcome: how it ended, at post-stop.
    """
    told = {"MPIBOOT_HOOK": kind.value, "MPIBOOT_ROLE": role, "MPIBOOT_HOSTNAME": hostname}
    if hostfile:
        told["MPIBOOT_HOSTFILE"] = hostfile
    if np:
        told["MPIBOOT_NP"] = str(np)
    if outcome is not None:
        told["MPIBOOT_EXIT_CODE"] = str(outcome.code)
        told["MPIBOOT_FAULT"] = outcome.fault.value
        told["MPIBOOT_MESSAGE"] = outcome.message.replace("\0", "")[:MOST_VALUE]
    return told


@dataclass(kw_only=True)
class Said:
    """What the hooks of one kind have said so far; lines come in, variables and log lines go out.

    Attributes:
        takes: whether lines `export NAME=VALUE` of stdout set variables.
        variables: those that are set, last word last.
        last: the last line of the present hook that is not empty.
    """

    takes: bool
    variables: dict[str, str] = field(default_factory=dict)
    last: str = ""
    _lines: int = 0

    def begin(self) -> None:
        """Begin with the next hook."""
        self.last, self._lines = "", 0

    def hear(self, line: bytes, *, stdout: bool) -> str | None:
        """Take one line, without its end; return what the log shows of it, None for nothing."""
        if self.takes and stdout and line.startswith(MARK.encode()):
            fault = self._assign(line[len(MARK) :])
            return f"{fault}; the line is left out" if fault else None
        text = _printable(line)
        if not text:
            return None
        self.last = text
        self._lines += 1
        if self._lines > MOST_LINES:
            return None
        if self._lines == MOST_LINES:
            return f"{text} (line {MOST_LINES}; what follows is not shown)"
        return text

    def _assign(self, data: bytes) -> str:
        """Set a variable; return why not, empty when it was set."""
        raw, found, value = data.partition(b"=")
        name = _printable(raw)[:80]
        if not found or not _NAME.fullmatch(name) or len(name) != len(raw):
            return f"{name!r} is no NAME=VALUE with a name of letters, digits and _"
        if name.startswith(OWN):
            return f"{name} is not for hooks to set: {OWN}… are the agent's own"
        if len(value) > MOST_VALUE:
            return f"the value of {name} has {len(value)} bytes, {MOST_VALUE} is the most"
        try:
            text = value.decode()
        except UnicodeDecodeError:
            return f"the value of {name} is not UTF-8"
        if "\0" in text:
            return f"the value of {name} has a NUL byte in it"
        if name not in self.variables and len(self.variables) >= MOST_VARIABLES:
            return f"{name} would be one more than {MOST_VARIABLES} variables"
        self.variables[name] = text
        return ""


def _printable(line: bytes) -> str:
    text = line[: 4 * MOST_SHOWN].decode(errors="replace").expandtabs(4).rstrip()
    shown = "".join(c if c.isprintable() else "?" for c in text)
    return shown if len(shown) <= MOST_SHOWN else f"{shown[:MOST_SHOWN]}…"


@dataclass(frozen=True, kw_only=True)
class End:
    """How one hook ended.

    Attributes:
        name: of the hook.
        code: its exit code, 128 + n for a signal; None: it was late or could not be started.
        late_s: how much time there was for all hooks, when it was late.
        fault: why it could not be started; empty when it was.
        last: its last line.
    """

    name: str
    code: int | None = None
    late_s: float | None = None
    fault: str = ""
    last: str = ""

    @property
    def failed(self) -> bool:
        """Tell whether it did anything but end with 0."""
        return self.code != 0

    def text(self, kind: Kind) -> str:
        """Tell in one sentence how it ended."""
        who = f"{kind.value} hook {self.name}"
        if self.fault:
            return f"{who} cannot be run: {self.fault}"
        if self.late_s is not None:
            what = f"{who} did not end within {self.late_s:.3g} s"
        elif self.code is not None and self.code - 128 in _SIGNALS:
            what = f"{who} was killed by {_SIGNALS[self.code - 128]}"
        else:
            what = f"{who} ended with {self.code}"
        return f"{what}: {self.last}" if self.last else what


_SIGNALS: Mapping[int, str] = {int(one): one.name for one in signals.Signals}


def fault_of(end: End, path: str) -> ConfigError:
    """Return the fault with which the role ends when a hook before its start fails."""
    hint = f"mend or remove {path}"
    if end.late_s is not None:
        hint += ", or raise --hook-timeout"
    return ConfigError(end.text(Kind.PRE_START), hint=hint)
