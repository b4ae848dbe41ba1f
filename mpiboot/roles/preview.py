"""What the launcher would do, as far as it can be told without asking anybody."""

from __future__ import annotations

import asyncio
import os
import shlex
from collections.abc import Mapping, Sequence

from mpiboot.model.announced import Announced
from mpiboot.model.counting import counted
from mpiboot.model.hosts import Enumerated, Host, Listed, Scripted, Source
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.plan import layout
from mpiboot.plan.gather import Reach, Seen
from mpiboot.roles import ground, installation, keyring, planning
from mpiboot.roles.agent import job_environment
from mpiboot.roles.serving import default_port
from mpiboot.runtime import files
from mpiboot.runtime.children import Children
from mpiboot.runtime.keys import KeyMaterial
from mpiboot.runtime.signals import SignalPump


def text(settings: Settings, env: Mapping[str, str], command: Sequence[str]) -> str:
    """Return the plan as text; nothing is written, nobody is contacted."""
    return asyncio.run(_text(settings, env, command))


async def _text(settings: Settings, env: Mapping[str, str], command: Sequence[str]) -> str:
    children = Children()
    pump = SignalPump(lambda _number: None, children.reap)
    pump.start()
    job_env = job_environment(env)
    installed = await installation.find(settings, job_env, children, command)
    pump.stop()
    of_keys = keyring.note(settings, env)
    source = ground.find_source(settings, env)
    seen, notes = presumed(source, settings)
    own = ground.own(job_env)
    # Nobody knows the networks of pods that are not there yet, nor the MPI in them.
    there = replace(
        own.facts, networks=(), mpi=installed.mpi, mpi_path=installed.mpirun, daemon="?"
    )
    place = layout.arrange(
        seen, own_hostname=own.hostname, slots=settings.slots, np=settings.np,
        oversubscribe=settings.oversubscribe, calls=layout.calls(settings),
    )  # fmt: skip
    directory = str(files.candidates(settings.runtime_dir, env)[0] / "launcher")
    material = KeyMaterial(
        identity=f"{directory}/user_key",
        authorized_keys="",
        host_keys=(),
        host_publics=(),
        known_hosts="",
        what="",
    )
    what = ground.collect(
        settings, installed, material, directory=directory, job_env=job_env,
        own_address="192.0.2.255", own=replace(own, facts=there),
    )  # fmt: skip
    # Workers of one job are made of one image: what is here is presumed there.
    facts = [there] * len(seen)
    plan = planning.call(settings, command, installed, what, arranged=place, facts=facts)
    # Which networks pods have is not known before they are there.
    plan = replace(plan, notes=tuple(one for one in plan.notes if not one.startswith("network:")))
    lines = [
        f"note   {of_keys}",
        *notes,
    ]
    return "\n".join(lines) + "\n" + plan.text()


def presumed(source: Source, settings: Settings) -> tuple[list[Seen], list[str]]:
    """Stand in for what the wait will find."""
    hosts, notes = _found(source, settings)
    notes += [
        f"note   {host.name}: slots are known when it answers (--slots auto); 1 is shown"
        for host in hosts
        if isinstance(source, Listed) and host.slots is None and settings.slots == "auto"
    ]
    if any(not (host.is_address or host.here) for host in hosts):
        notes.append("note   192.0.2.x stands for the address that answers")
    seen = []
    for number, host in enumerate(hosts, start=1):
        address = host.name if host.is_address else f"192.0.2.{number % 255}"
        port = host.port or default_port(settings)
        seen.append(Seen(host=host, reach=Reach.PLAIN, address=address, port=port, here=host.here))
    return seen, notes


def _found(source: Source, settings: Settings) -> tuple[tuple[Host, ...], list[str]]:
    """Return the hosts of a list, or made-up ones, with what is to be said of them."""
    if isinstance(source, Listed):
        return source.hosts, []
    note = f"note   workers are {told(source, settings)}; made-up ones are shown"
    if isinstance(source, Announced):
        here = Host(name=os.uname().nodename, here=True)
        nodes = enumerate(_made_up(source.count))
        return tuple(here if n == source.own else host for n, host in nodes), [note]
    return _made_up(source.count or 2), [note]


def told(source: Enumerated | Scripted | Announced, settings: Settings) -> str:
    """Say who the workers of a source without a list are."""
    if isinstance(source, Announced):
        return counted(source.count, "node that announces itself", "nodes that announce themselves")
    many = f"{source.count}" if source.count else f"as many as stay for {settings.settle_s:g} s"
    if isinstance(source, Enumerated):
        return f"the addresses of {source.name}, {many}"
    return f"what {shlex.join(source.command)} prints, {many}"


def _made_up(count: int) -> tuple[Host, ...]:
    return tuple(Host(name=f"192.0.2.{n + 1}") for n in range(min(count, 254)))
