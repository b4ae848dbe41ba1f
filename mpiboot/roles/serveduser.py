"""The one user whom a worker's sshd serves: the worker's own, or the one that root gives way to."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mpiboot.errors import ConfigError
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.roles import account
from mpiboot.roles.serving import default_port
from mpiboot.runtime import privileges


def become(settings: Settings, env: Mapping[str, str]) -> tuple[Settings, Mapping[str, str]]:
    """Become the user whom --ssh-user names, before anything is done.

    sshd keeps root's default port: launchers know of no other.

    Returns:
        settings and environment as they are for that user.

    Raises:
        ConfigError: there is no such user, or this is another one and not root.
    """
    name = settings.ssh_user
    if not name or settings.rsh_agent:
        return settings, env
    if os.getuid() == 0:
        if name == account.name(env):
            return settings, env
        port = default_port(settings)
        home = privileges.become(name)
        return replace(settings, ssh_port=port), {
            **env, "HOME": home, "USER": name, "LOGNAME": name,
        }  # fmt: skip
    own = account.name(env)
    if own != name:
        raise ConfigError(
            f"--ssh-user names {name}, but this worker runs as {own} (uid {os.getuid()}), and a plain"
            " user's sshd serves nobody else",
            hint=f"run the container as {name}, or as root, which gives way to {name}; or leave"
            " --ssh-user to launchers",
        )
    return settings, env
