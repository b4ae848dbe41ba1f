"""Accounts as /etc/passwd has them, or nss_wrapper in its place."""

from __future__ import annotations

from collections.abc import Mapping

from mpiboot.model.record import dataclass

SHELL = "/bin/sh"  # also what an empty field of /etc/passwd means
PASSWD_FILE, GROUP_FILE, PRELOAD = "NSS_WRAPPER_PASSWD", "NSS_WRAPPER_GROUP", "LD_PRELOAD"
LIBRARY = "libnss_wrapper.so"
_NO_SHELLS = ("nologin", "false")


@dataclass(frozen=True, kw_only=True)
class Entry:
    """A line of /etc/passwd, as far as it matters.

    Attributes:
        name: login name.
        home: where a session begins.
        shell: what runs a session's commands; never empty.
    """

    name: str
    home: str
    shell: str = SHELL


@dataclass(frozen=True, kw_only=True)
class Seen:
    """What is to be seen of this process's account.

    Attributes:
        uid: of the process.
        gid: of its group.
        entry: what the system knows of the uid, or the job's own nss_wrapper; None: nothing.
        shell_runs: whether the entry's shell can be started.
        passwd: text of /etc/passwd.
        group: text of /etc/group.
        writable: whether a line can be added to /etc/passwd.
        library: path of nss_wrapper's library; empty where it is not installed.
        home: HOME, where it is a directory; else empty.
    """

    uid: int
    gid: int
    entry: Entry | None
    shell_runs: bool = True
    passwd: str = ""
    group: str = ""
    writable: bool = False
    library: str = ""
    home: str = ""


def find(passwd: str, uid: int) -> Entry | None:
    """Find the first entry of a uid in the text of a passwd file."""
    for line in passwd.splitlines():
        fields = line.split(":")
        if len(fields) >= 7 and fields[0] and fields[2] == str(uid):
            return Entry(name=fields[0], home=fields[5], shell=fields[6] or SHELL)
    return None


def starts(shell: str, *, runs: bool) -> bool:
    """Tell whether a login shell runs commands, given whether its file can be started."""
    return runs and shell.rpartition("/")[2] not in _NO_SHELLS


def wrapped_file(env: Mapping[str, str]) -> str:
    """Name the passwd file of an nss_wrapper that the environment loads already; empty: none."""
    return env.get(PASSWD_FILE, "") if LIBRARY in env.get(PRELOAD, "") else ""


def variables(env: Mapping[str, str], library: str, passwd: str, group: str) -> dict[str, str]:
    """Return what has programs load nss_wrapper, before what they load already."""
    others = env.get(PRELOAD, "")
    preload = others if library in others.split(":") else f"{library}:{others}".rstrip(":")
    return {PRELOAD: preload, PASSWD_FILE: passwd, GROUP_FILE: group}
