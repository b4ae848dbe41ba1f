"""Say what a pod is made of."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.record import dataclass, field

BASE_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/root",
    "LANG": "C.UTF-8",
}
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")


@dataclass(frozen=True, kw_only=True)
class Bind:
    """A file or directory of this machine that a pod sees at another place.

    The target is made when it is missing, but only where that does not touch the machine: below
    /run, /dev and the pod's own tmpfs mounts.
    """

    source: str
    target: str
    read_only: bool = False


@dataclass(frozen=True, kw_only=True)
class PodSpec:
    """One pod.

    Args:
        name: pod name and hostname, at most 64 characters.
        argv: the program that becomes PID 1; looked up in the pod's PATH.
        env: added to BASE_ENVIRONMENT; nothing else is inherited.
        cwd: working directory; empty: the caller's.
        binds: mounted last, in order.
        tmpfs: `target` or `target:options`, e.g. `/dev/shm:size=64m`; mounted in order.
        aliases: further names of the pod; the same alias on many pods gives many addresses.
        hosts_lines: further lines for this pod's own /etc/hosts.
        listed: whether other pods' /etc/hosts name this one from the start.
        uid: user to run as; None: root.
        gid: group to run as, with `uid` only; None: the same number as `uid`.
        blocked: signals blocked across exec, as the images' entry script does; none by default.

    Raises:
        ConfigError: the name cannot be a hostname, or `argv` is empty.
    """

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    cwd: str = ""
    binds: tuple[Bind, ...] = ()
    tmpfs: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    hosts_lines: tuple[str, ...] = ()
    listed: bool = True
    uid: int | None = None
    gid: int | None = None
    blocked: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        if not _NAME.fullmatch(self.name) or self.name in {".", ".."}:
            raise ConfigError(f"{self.name!r} cannot be a pod's name and hostname")
        if not self.argv:
            raise ConfigError(f"pod {self.name} has no program to run")

    @property
    def user(self) -> tuple[int, int] | None:
        """UID and GID to run as, or None for root."""
        if self.uid is None:
            return None
        return self.uid, self.uid if self.gid is None else self.gid

    @property
    def environment(self) -> dict[str, str]:
        """The pod's whole environment."""
        home = {"HOME": "/"} if self.uid else {}  # what container engines do for an unknown user
        return {**BASE_ENVIRONMENT, **home, **self.env}
