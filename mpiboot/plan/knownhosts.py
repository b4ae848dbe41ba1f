"""Which host keys a known_hosts file vouches for, read as OpenSSH reads it."""

from __future__ import annotations

import base64
import hashlib
import hmac

_SSH_PORT = 22
_REVOKED = "@revoked"
_PATTERN = frozenset("*?!")


def vouched(text: str, name: str, port: int) -> tuple[str, ...]:
    """Return the keys that a host may show, each as `type base64`, in the file's order.

    Several keys for one host, patterns with `*`, `?` and `!`, `[name]:port` and hashed names are
    understood. A certificate authority vouches for certificates, which nobody shows here.

    Args:
        text: the file's text; what is no entry is passed over, as ssh does.
        name: the host as the user named it.
        port: the port of its sshd; a line without a port counts for any.
    """
    return KnownHosts(text).vouched(name, port)


class KnownHosts:
    """A known_hosts file that is asked for many hosts: lines that name hosts are found by these.

    Only patterns and hashed names have to be compared with each host.

    Args:
        text: the file's text.
    """

    def __init__(self, text: str) -> None:
        self._lines: list[tuple[str, str, str]] = []  # marker, names, key
        self._named: dict[str, list[int]] = {}  # name → numbers of lines
        self._others: list[int] = []
        for line in text.split("\n"):  # no other sign ends a line for ssh
            entry = _entry(line)
            if entry[1]:
                self._add(entry)

    def _add(self, entry: tuple[str, str, str]) -> None:
        number, names = len(self._lines), entry[1]
        self._lines.append(entry)
        if names.startswith("|1|") or not _PATTERN.isdisjoint(names):
            self._others.append(number)
            return
        for name in dict.fromkeys(names.lower().split(",")):
            self._named.setdefault(name, []).append(number)

    def vouched(self, name: str, port: int) -> tuple[str, ...]:
        """Return the keys that a host may show; arguments and result as of the function."""
        if not self._lines:
            return ()
        lower = name.lower()
        asked = {lower} if port == _SSH_PORT else {lower, f"[{lower}]:{port}"}
        found = {number for one in asked for number in self._named.get(one, ())}
        found.update(n for n in self._others if _matches(self._lines[n][1], asked))
        good, revoked = [], set()
        for number in sorted(found):
            marker, _, key = self._lines[number]
            if marker == _REVOKED:
                revoked.add(key)
            elif not marker:
                good.append(key)
        return tuple(dict.fromkeys(key for key in good if key not in revoked))


def _entry(line: str) -> tuple[str, str, str]:
    """Split a line into its marker, names and key; names are empty where it is none."""
    words = line.split()
    marker = words.pop(0) if words and words[0].startswith("@") else ""
    if len(words) < 3 or words[0].startswith("#"):
        return marker, "", ""
    return marker, words[0], f"{words[1]} {words[2]}"


def _matches(names: str, asked: set[str]) -> bool:
    if names.startswith("|1|"):
        return any(_is_hash_of(names, one) for one in asked)
    patterns = [pattern for pattern in names.lower().split(",") if pattern]
    hits = [pattern for pattern in patterns if _fits(pattern.removeprefix("!"), asked)]
    return bool(hits) and not any(pattern.startswith("!") for pattern in hits)


def _fits(pattern: str, asked: set[str]) -> bool:
    return any(_is_like(one, pattern) for one in asked)


def _is_like(name: str, pattern: str) -> bool:
    """Match `*` and `?` as ssh does, and in no more steps than the lengths' product.

    Not fnmatch: in `[name]:port` the brackets stand for themselves; and a regular expression takes
    ages for many stars.
    """
    at = read = 0
    star, resumed = -1, 0
    while at < len(name):
        sign = pattern[read] if read < len(pattern) else ""
        if sign == "*":
            star, resumed = read, at
            read += 1
        elif sign in ("?", name[at]):
            at, read = at + 1, read + 1
        elif star >= 0:
            resumed += 1
            at, read = resumed, star + 1
        else:
            return False
    return not pattern[read:].strip("*")


def _is_hash_of(names: str, asked: str) -> bool:
    _, _, salt, digest = (*names.split("|"), "", "")[:4]
    try:
        key, expected = base64.b64decode(salt), base64.b64decode(digest)
    except ValueError:  # binascii.Error is one of them
        return False
    return hmac.compare_digest(hmac.digest(key, asked.encode(), hashlib.sha1), expected)
