"""Who the workers are, what names resolve to, and which ports are free: looked at, nobody is called."""

from __future__ import annotations

import asyncio
import errno
import os
from collections.abc import Mapping, Sequence

from mpiboot.errors import MpibootError
from mpiboot.model import checkup
from mpiboot.model.announced import Announced
from mpiboot.model.checkup import Asked, Names, Port, Trial
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Enumerated, Host, Listed, Scripted, Source
from mpiboot.model.settings import Settings
from mpiboot.model.spec import LAUNCHER, WORKER
from mpiboot.plan import layout
from mpiboot.plan.doctor import network
from mpiboot.plan.parties import listed
from mpiboot.roles import ground, preview
from mpiboot.roles.installation import Installation
from mpiboot.roles.serving import default_port
from mpiboot.roles.trying import judged
from mpiboot.runtime import files, ports, resolve
from mpiboot.runtime.resolve import NoNameError

_NAME_S = 1.5
_MOST_NAMES = 256


def workers(role: str, settings: Settings, env: Mapping[str, str]) -> tuple[Source | None, Trial]:
    """Find the workers as a launcher does, and tell whether its ranks fit there."""
    if role != LAUNCHER:
        return None, Trial()
    try:
        source = ground.find_source(settings, env)
    except MpibootError as fault:
        return None, checkup.failed(fault)
    return source, judged(lambda: _fit(source, settings))


def _fit(source: Source, settings: Settings) -> str:
    if not isinstance(source, Listed):
        return preview.told(source, settings)
    names = listed([host.name for host in source.hosts])
    if settings.slots == "auto" and any(host.slots is None for host in source.hosts):
        return f"{len(source.hosts)}: {names}; slots are known when they answer"
    seen, _ = preview.presumed(source, settings)
    arranged = layout.arrange(
        seen, own_hostname=os.uname().nodename, slots=settings.slots, np=settings.np,
        oversubscribe=settings.oversubscribe,
    )  # fmt: skip
    return f"{len(source.hosts)}: {names}; {counted(arranged.np, 'rank')}, {counted(arranged.total_slots, 'slot')}"


async def names(source: Source | None, settings: Settings) -> Names:
    """Ask for this container's own name and for those of the workers, as many as can be.

    A program in place of ssh knows workers by names of its own, which no resolver need know.
    """
    hostname = os.uname().nodename
    wanted = _wanted(source) if not settings.rsh_agent else []
    own, *found = await asyncio.gather(*map(_ask, [hostname, *wanted[:_MOST_NAMES]]))
    return Names(
        hostname=hostname,
        resolver=files.head("/etc/resolv.conf") or "",
        own=own,
        workers=tuple(found),
        unasked=len(wanted[_MOST_NAMES:]),
    )


def _wanted(source: Source | None) -> list[str]:
    match source:
        case Listed(hosts=hosts):
            return [host.name for host in hosts if not host.is_address]
        case Enumerated(name=name):
            return [name]
        case Scripted() | Announced() | None:
            return []


def hosts(source: Source | None, found: Names) -> Sequence[Host]:
    """List the workers that can be reached by now."""
    match source:
        case Listed(hosts=hosts):
            return hosts
        case Enumerated():
            addresses = [address for one in found.workers for address in one.addresses]
            return [Host(name=address) for address in resolve.ordered(addresses)]
        case Scripted() | Announced() | None:
            return ()


async def _ask(name: str) -> Asked:
    try:
        return Asked(name=name, addresses=tuple(await resolve.lookup(name, _NAME_S)))
    except NoNameError as fault:
        return Asked(name=name, why_not=str(fault))


def bearable(installed: Installation | None) -> Trial:
    """Tell whether an MPI can bear this container's own name; yes where there is none."""
    if installed is None:
        return Trial()
    try:
        layout.check_names(installed.dialect, os.uname().nodename, ())
    except MpibootError as fault:
        return checkup.failed(fault)
    return Trial()


def taken(role: str, settings: Settings) -> list[Port]:
    """Look at the ports that a role listens on."""
    found = []
    if role == WORKER and not settings.rsh_agent:
        found.append(_port(default_port(settings), "sshd", network.SSH_PORT, optional=False))
    if settings.http_port:
        # The agent's own rule: it goes on without the default one.
        optional = settings.http_port == Settings.http_port
        found.append(
            _port(settings.http_port, "probes and metrics", network.HTTP_PORT, optional=optional)
        )
    return found


def _port(number: int, purpose: str, flag: str, *, optional: bool) -> Port:
    fault = ports.refusal(number)
    return Port(
        number=number,
        purpose=purpose,
        flag=flag,
        why_not=os.strerror(fault) if fault else "",
        holder=ports.holder(number) if fault else "",
        denied=fault == errno.EACCES,
        optional=optional,
    )
