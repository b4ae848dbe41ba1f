"""A call of sshd as a worker's command: what it asks for, and what a worker of ours takes over."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mpiboot.model.record import dataclass

DEFAULT_FILE = "/etc/ssh/sshd_config"
IMPLIED_DIRECTORY = "/etc/ssh"  # of names in Include without a directory

# sshd's own options (OpenSSH 7 to 10): those with a value, and those of calls that serve nobody.
_VALUED = "CEbcfghkopu"
_FLAGS = "46DGQRTVdeiqrt"
_OTHER_PURPOSE = frozenset("GQRTVdit")
_DEEPEST = 8  # files that include files
_LEVELS = {"DEBUG1": "DEBUG", "DEBUG2": "DEBUG", "DEBUG3": "DEBUG"}
_KNOWN_LEVELS = frozenset(("QUIET", "FATAL", "ERROR", "INFO", "VERBOSE", "DEBUG"))
# How sshd runs, not what it allows: a worker of ours has its own, and nobody would miss these.
_OF_NO_ACCOUNT = frozenset(
    ("pidfile", "printmotd", "printlastlog", "usedns", "strictmodes", "subsystem", "x11forwarding")
)

Pair = tuple[str, str]


@dataclass(frozen=True, kw_only=True)
class SshdCall:
    """A call that serves logins.

    Attributes:
        foreground: whether it stays (-D), or goes into the background.
        file: its configuration.
        options: keyword and value of -p, -h and -o, in order.
    """

    foreground: bool
    file: str
    options: tuple[Pair, ...]


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What becomes of a call's configuration.

    Attributes:
        usual: value and reason by setting, for settings of which the user says nothing.
        dropped: keywords that have no effect on a worker of ours.
    """

    usual: dict[str, tuple[object, str]]
    dropped: tuple[str, ...]


def parse(args: Sequence[str]) -> SshdCall | None:
    """Read sshd's words; None: it is to do something else, or would refuse them."""
    flags: set[str] = set()
    values: list[Pair] = []
    rest = list(args)
    while rest:
        word = rest.pop(0)
        if len(word) < 2 or not word.startswith("-") or word == "--":
            return None
        for at, letter in enumerate(word[1:], start=1):
            if letter in _VALUED:
                value = word[at + 1 :] or (rest.pop(0) if rest else "")
                if not value:
                    return None
                values.append((letter, value))
                break
            if letter not in _FLAGS:
                return None
            flags.add(letter)
    if flags & _OTHER_PURPOSE:
        return None
    options = tuple(pair for letter, value in values for pair in _option(letter, value))
    files = [value for letter, value in values if letter == "f"]
    return SshdCall(
        foreground="D" in flags, file=files[-1] if files else DEFAULT_FILE, options=options
    )


def _option(letter: str, value: str) -> list[Pair]:
    if letter == "o":
        return _pairs(value.replace("=", " ", 1))
    name = {"p": "Port", "h": "HostKey"}.get(letter)
    return [(name, value)] if name else []


def _pairs(text: str) -> list[Pair]:
    """Read keyword and value of each line, as far as they hold for everybody."""
    found = []
    for line in text.splitlines():
        words = line.strip().replace("=", " ", 1).split(None, 1)
        if len(words) < 2 or words[0].startswith("#"):
            continue
        if words[0].lower() == "match":
            break
        found.append((words[0], words[1].strip().strip('"')))
    return found


def expand(text: str, read: Callable[[str], Sequence[str]], depth: int = _DEEPEST) -> list[Pair]:
    """Read a configuration with what it includes.

    Args:
        text: of the file.
        read: returns the texts of the files that a pattern names.
        depth: how many files may include one another.
    """
    found: list[Pair] = []
    for keyword, value in _pairs(text):
        if keyword.lower() != "include":
            found.append((keyword, value))
            continue
        for pattern in value.split() if depth else ():
            path = pattern if pattern.startswith("/") else f"{IMPLIED_DIRECTORY}/{pattern}"
            for included in read(path):
                found += expand(included, read, depth - 1)
    return found


def terms(call: SshdCall, configured: Sequence[Pair]) -> Terms:
    """Decide what a worker takes over; as for sshd, the first word about something counts.

    Args:
        call: the call.
        configured: keywords and values of its file.
    """
    usual: dict[str, tuple[object, str]] = {}
    dropped: dict[str, None] = {}
    for where, pairs in (("sshd's own words", call.options), (call.file, configured)):
        for keyword, value in pairs:
            taken = _taken(keyword.lower(), value)
            if taken is not None:
                name, setting = taken
                usual.setdefault(name, (setting, f"{keyword} in {where}"))
            elif keyword.lower() not in _OF_NO_ACCOUNT:
                dropped[keyword] = None
    return Terms(usual=usual, dropped=tuple(dropped))


def _taken(keyword: str, value: str) -> tuple[str, object] | None:
    if keyword == "port" and value.isdecimal() and 0 < int(value) < 65536:
        return "ssh_port", int(value)
    if keyword == "loglevel":
        level = _LEVELS.get(value.upper(), value.upper())
        return ("sshd_log_level", level) if level in _KNOWN_LEVELS else None
    directory, _, name = value.rpartition("/")
    # Images for the MPI Operator use the job's own key as host key: beside it lies the pair.
    if keyword == "hostkey" and name.startswith("id_") and directory.startswith("/"):
        return "key_dir", directory
    return None
