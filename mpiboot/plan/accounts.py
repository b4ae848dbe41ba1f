"""Which account this process has for OpenSSH, and what gives it one where /etc/passwd does not.

OpenSSH insists on an entry for its own uid, and a session on a shell that starts. A platform that
chooses uids, as OpenShift does, knows of neither.
"""

from __future__ import annotations

from mpiboot.errors import ConfigError, LaunchFailedError
from mpiboot.model.accounts import Entry, Seen, starts
from mpiboot.model.checkup import Trial
from mpiboot.model.record import dataclass

NAME = "mpiboot"  # of an account that is made up


@dataclass(frozen=True, kw_only=True)
class Account:
    """The account that OpenSSH will see.

    Attributes:
        entry: of this uid.
        added: line for the end of /etc/passwd; empty: it stays as it is.
        passwd: text of a file for nss_wrapper in place of /etc/passwd; empty: none.
        group: the same for /etc/group.
        library: path of nss_wrapper's library, where it is needed.
    """

    entry: Entry
    added: str = ""
    passwd: str = ""
    group: str = ""
    library: str = ""

    @property
    def told(self) -> str:
        """How it came about, for people; empty where it is simply there."""
        if self.added:
            return f"{self.entry.name}, for which a line is added to /etc/passwd"
        return f"{self.entry.name}, which {self.library} makes up" if self.library else ""


def decide(seen: Seen, *, serving: bool) -> Account:
    """Say which account there is, or how there will be one.

    Args:
        seen: what is there.
        serving: whether somebody will log in here, and needs a shell.

    Raises:
        ConfigError: there is none, and nothing here can make up for it.
        LaunchFailedError: it has no shell that starts.
    """
    entry = seen.entry
    if entry is None:
        made = Entry(name=_free_name(seen.passwd, seen.uid), home=seen.home or "/")
        if seen.writable:
            gap = "\n" if seen.passwd and not seen.passwd.endswith("\n") else ""
            return Account(entry=made, added=gap + _line(made, seen))
        if seen.library:
            return _wrapped(made, seen)
        raise ConfigError(
            f"uid {seen.uid} has no entry in /etc/passwd, and OpenSSH refuses such users",
            hint="add one to the image (useradd), run as a user that has one (runAsUser, --user), or"
            " have in the image nss_wrapper (libnss-wrapper) or a /etc/passwd that group 0 may write",
        )
    if serving and not starts(entry.shell, runs=seen.shell_runs):
        if seen.library:
            return _wrapped(Entry(name=entry.name, home=entry.home), seen)
        raise LaunchFailedError(
            f"{entry.name}'s shell {entry.shell} starts no command: no login works",
            hint="give the account a shell in the image (usermod -s /bin/sh)",
        )
    return Account(entry=entry)


def of_client(path: str, seen: Seen) -> Trial | None:
    """Say what ssh is worth to a uid without an account, for which it does nothing; None: it has one.

    Args:
        path: of ssh.
        seen: what is there.
    """
    if seen.entry is not None:
        return None
    try:
        decide(seen, serving=False)
    except ConfigError:
        return Trial(
            text=f"{path} does nothing here: uid {seen.uid} has no account",
            remedy="give this uid an account: the finding on the user says how",
        )
    return Trial(text=f"{path}; uid {seen.uid} gets the account that it wants when the role starts")


def _wrapped(entry: Entry, seen: Seen) -> Account:
    """Put an entry before all others: the first one of a name, and of a uid, is the one that counts."""
    return Account(
        entry=entry,
        passwd=_line(entry, seen) + seen.passwd,
        group=seen.group if _has(seen.group, seen.gid) else f"{NAME}:x:{seen.gid}:\n{seen.group}",
        library=seen.library,
    )


def _line(entry: Entry, seen: Seen) -> str:
    return f"{entry.name}:x:{seen.uid}:{seen.gid}::{entry.home}:{entry.shell}\n"


def _free_name(passwd: str, uid: int) -> str:
    """Choose the name that agents of one job choose alike, unless it is taken here."""
    taken = {line.partition(":")[0] for line in passwd.splitlines()}
    return f"{NAME}{uid}" if NAME in taken else NAME


def _has(group: str, gid: int) -> bool:
    return any(line.split(":")[2:3] == [str(gid)] for line in group.splitlines())
