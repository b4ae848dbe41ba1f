"""How workers are approached, from the settings and the keys."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from mpiboot.link import client
from mpiboot.model.hosts import Host
from mpiboot.model.settings import Settings
from mpiboot.plan import holding
from mpiboot.plan.gather import Seen
from mpiboot.roles import gathering, ground
from mpiboot.roles.attempts import Approach
from mpiboot.roles.serving import default_port
from mpiboot.runtime import rlimits
from mpiboot.runtime.keys import KeyMaterial


async def terms(settings: Settings, keys: Awaitable[KeyMaterial], launcher_id: str) -> client.Terms:
    """Say what all logins have in common, once the job's keys are made.

    Args:
        settings: what the user chose.
        keys: are being made.
        launcher_id: by which workers know this launcher.

    Raises:
        ConfigError: there are no keys, or the user's known_hosts file cannot be read.
    """
    material = await keys
    return client.Terms(
        identity=material.identity,
        host_publics=material.host_publics,
        known_hosts=ground.known_hosts(settings, material),
        hello=gathering.hello(launcher_id),
        timeout_s=settings.attempt_timeout_s,
        lost_s=settings.lease_timeout_s,
    )


def approach(
    settings: Settings,
    login: asyncio.Future[client.Terms],
    user: str,
    through: Callable[[Host], Awaitable[Seen]] | None,
) -> Approach:
    """Say how to reach and log in to each worker.

    Args:
        settings: what the user chose.
        login: what all logins have in common.
        user: to log in as where nothing else is said.
        through: asks a host through the program in place of ssh; None: over ssh.
    """
    room = rlimits.room_for(holding.descriptors(settings.lease_limit))
    return Approach(
        login=login,
        user=user,
        port=default_port(settings),
        attempt_s=settings.attempt_timeout_s,
        settle_s=settings.settle_s,
        deadline_s=settings.wait_timeout_s,
        strikes=settings.strikes,
        quorum=settings.min_workers,
        elastic=settings.elastic,
        lease_limit=holding.bound(settings.lease_limit, room),
        through=through,
    )
