"""What the launcher's own container is and has: where hosts are named, who it is, what mpirun gets."""

from __future__ import annotations

import os
import secrets
import sys
from collections.abc import Mapping
from pathlib import Path

from mpiboot import link, platforms
from mpiboot.errors import ConfigError
from mpiboot.model.hosts import Source
from mpiboot.model.settings import Settings
from mpiboot.plan.ground import Ground
from mpiboot.plan.identity import Own
from mpiboot.roles import account, surroundings
from mpiboot.roles.agent import SOCKET
from mpiboot.roles.installation import Installation
from mpiboot.roles.serving import default_port
from mpiboot.runtime import files, inspect
from mpiboot.runtime.keys import KeyMaterial


def find_source(settings: Settings, env: Mapping[str, str]) -> Source:
    """Ask the platforms who takes part."""
    return platforms.find_source(surroundings.seen(settings, env))


def own(job_env: Mapping[str, str]) -> Own:
    """Describe this container as a host."""
    facts = inspect.facts(job_env)
    return Own(hostname=facts.hostname, addresses=facts.addresses, facts=facts)


def known_hosts(settings: Settings, material: KeyMaterial) -> str:
    """Return what is known of plain-sshd workers' host keys, beside the keys and in the user's file.

    Raises:
        ConfigError: the user's file cannot be read.
    """
    if not settings.known_hosts:
        return material.known_hosts
    text = files.read_text(settings.known_hosts)
    if text is None:
        raise ConfigError(f"known_hosts file {settings.known_hosts} cannot be read")
    return f"{material.known_hosts}\n{text}"


def collect(
    settings: Settings,
    installed: Installation,
    material: KeyMaterial,
    *,
    directory: str,
    job_env: Mapping[str, str],
    own_address: str,
    own: Own,
    masters: Mapping[str, str] | None = None,
) -> Ground:
    """Collect what the launch plan needs of this container."""
    return Ground(
        mpirun=installed.mpirun,
        version=installed.version,
        mpi=installed.mpi,
        hostname=os.uname().nodename,
        user="" if settings.rsh_agent else account.name(job_env),
        as_root=os.getuid() == 0,
        directory=directory,
        identity=material.identity,
        host_keys=material.host_publics,
        known_hosts=known_hosts(settings, material),
        port=default_port(settings),
        own_address=own_address,
        facts=own.facts,
        standin=(sys.executable, "-I", "-S", str(Path(link.__file__).with_name("standin.py"))),
        link=f"{directory}/{SOCKET}",
        no_stdin=files.is_null(0),
        nonce=secrets.token_hex(8),
        site_params=installed.site_params,
        environ=job_env,
        prte=installed.prte,
        masters=masters or {},
    )
