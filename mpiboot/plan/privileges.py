"""Can this user's sshd start, listen, and let somebody in? Asked before, for sshd says it late or never."""

from __future__ import annotations

from mpiboot.errors import ConfigError
from mpiboot.model.privileges import Privileges

# root's sshd changes root and user for each login; without them it listens, and each login dies.
FOR_LOGINS = ("SETGID", "SETUID", "SYS_CHROOT")
FOR_PORTS = "NET_BIND_SERVICE"


def barred(own: Privileges, demanded: frozenset[str]) -> frozenset[str]:
    """Name what keeps a program from being started: what its file demands and nobody here may have.

    A copy of the file does not carry the demand.
    """
    return demanded - own.bounding


def check_serving(own: Privileges, *, port: int, demanded: frozenset[str] = frozenset()) -> None:
    """Judge whether sshd can listen on a port and let somebody in.

    Args:
        own: what this process may do.
        port: where sshd listens.
        demanded: what the file of sshd puts into effect; none for a copy of it.

    Raises:
        ConfigError: it cannot.
    """
    lacks = [name for name in FOR_LOGINS if name not in own.held] if own.uid == 0 else []
    if lacks:
        raise ConfigError(
            f"root's sshd needs {_listed(lacks)}, which this container does not have: it would"
            " listen, and each login would die",
            hint="add what is missing (capabilities.add in securityContext, --cap-add with docker),"
            " or run as another user, whose sshd needs none",
        )
    gained = frozenset() if own.no_new_privs else demanded & own.bounding
    if port < own.unprivileged_port and FOR_PORTS not in own.held | gained:
        raise ConfigError(
            f"port {port} is for processes with the capability {FOR_PORTS}, which this one has not",
            hint=f"choose a port from {own.unprivileged_port} on with --ssh-port, for both roles,"
            " or add the capability",
        )


def _listed(names: list[str]) -> str:
    return f"the capabilit{'ies' if len(names) > 1 else 'y'} {', '.join(names)}"
