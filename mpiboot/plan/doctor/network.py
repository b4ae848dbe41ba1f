"""Names, ports, and who is reached: what there is of the network before the job."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator, Sequence

from mpiboot.errors import ExitCode
from mpiboot.model.checkup import Asked, Checkup, Port
from mpiboot.model.counting import counted
from mpiboot.model.diagnosis import Finding, Grade
from mpiboot.plan.doctor.findings import doubtful, good, tried
from mpiboot.plan.parties import listed

_WAITS = (
    "the launcher waits for them (--wait-timeout); if they never come, look at the Service's name, the"
    " pods' hostname and subdomain, and publishNotReadyAddresses"
)
SSH_PORT, HTTP_PORT = "--ssh-port", "--http-port"
_OWN = {SSH_PORT: "sshd", HTTP_PORT: "python"}  # what an agent's ports are held by
_HERE = ("localhost", "localhost.localdomain", "ip6-localhost")


def hostname(seen: Checkup) -> Iterator[Finding]:
    """Judge this container's own name, and where it leads."""
    names = seen.names
    if names.refused.fault:
        yield tried(names.refused)
        return
    own = names.own
    if own is None or not own.addresses:
        why = f" ({own.why_not})" if own is not None and own.why_not else ""
        yield good(f"{names.hostname}, which does not resolve{why}, and need not")
    elif all(map(_loopback, own.addresses)):
        yield doubtful(
            f"{names.hostname} is {own.addresses[0]}: who asks for the own address by name gets one"
            " that nobody else can reach; mpiboot tells MPI the right one",
            "write the container's address into /etc/hosts, for programs that ask",
        )
    else:
        yield good(f"{names.hostname} is {', '.join(own.addresses)}")


def networks(seen: Checkup) -> Iterator[Finding]:
    """List the networks that this container is on."""
    nets = seen.facts.networks
    if not nets:
        yield doubtful("no network but loopback", "connect the container to the job's network")
        return
    more = (
        "" if len({net.name for net in nets}) == 1 else "; the launcher chooses the one all share"
    )
    yield good(", ".join(f"{net.name} {net.cidr}" for net in nets) + more)


def resolver(seen: Checkup) -> Iterator[Finding]:
    """Say whom names are asked for, and what comes of the workers' names."""
    servers = _words(seen.names.resolver, "nameserver")
    search = _words(seen.names.resolver, "search")
    if servers:
        yield good(f"nameserver {', '.join(servers)}; search {' '.join(search) or 'nothing'}")
    else:
        yield good("no nameserver in /etc/resolv.conf: names come from /etc/hosts")
    asked = seen.names.workers
    away = [one for one in asked if not one.addresses]
    if away:
        yield doubtful(
            f"{len(away)} of {counted(len(asked), 'name does', 'names do')} not resolve now:"
            f" {listed([a.name for a in away])} ({away[0].why_not})",
            _WAITS,
        )
    own = {*_HERE, seen.names.hostname}
    wrong = [one for one in asked if one.addresses and one.name not in own and _is_here(one)]
    there = [one for one in asked if one.addresses and one not in wrong]
    yield from _odd(wrong, there, seen)
    if there:
        unasked = seen.names.unasked
        told = listed([f"{one.name} ({listed(one.addresses)})" for one in there])
        more = f"; {counted(unasked, 'more was', 'more were')} not asked for" if unasked else ""
        named = counted(len(asked), "name of a worker resolves", "names of workers resolve")
        yield good(f"{len(there)} of {named}: {told}{more}")


def _odd(wrong: Sequence[Asked], there: Sequence[Asked], seen: Checkup) -> Iterator[Finding]:
    """Tell of answers that lead nowhere: another host's loopback; addresses that this MPI cannot use."""
    if wrong:
        yield Finding(
            grade=Grade.FAIL,
            text=f"{listed([one.name for one in wrong])} resolves to {wrong[0].addresses[0]}, which is"
            " this container itself",
            remedy="correct /etc/hosts or the DNS record",
            code=int(ExitCode.NOT_READY),
        )
    newer = [one for one in there if all(":" in address for address in one.addresses)]
    if newer and seen.facts.mpi.startswith("Open MPI"):
        yield doubtful(
            f"{listed([one.name for one in newer])} has IPv6 addresses only: most builds of Open MPI"
            " speak IPv4",
            "give the hosts IPv4 addresses, or use an Open MPI that was built with --enable-ipv6",
        )


def hosts(seen: Checkup) -> Iterator[Finding]:
    """Say who the workers are."""
    yield tried(seen.hosts)


def ports(seen: Checkup) -> Iterator[Finding]:
    """Say which ports are taken, and by whom."""
    for port in seen.ports:
        what = f"port {port.number} for {port.purpose}"
        if not port.why_not:
            yield good(f"{what} is free")
        elif seen.first.agent and port.holder.startswith(_OWN[port.flag]):
            yield good(f"{what} is held by {port.holder}: an mpiboot {seen.first.agent} runs here")
        elif not port.denied or port.flag != SSH_PORT:  # that one is told with the privileges
            yield _taken(port, what)


def _taken(port: Port, what: str) -> Finding:
    text = f"{what} cannot be used: {port.why_not}"
    if not port.denied:
        unseen = "a process that cannot be seen: another user's, or one on the host's network"
        text += f"; it is held by {port.holder or unseen}"
    if port.optional:
        return doubtful(text, f"nothing, the agent goes on without it; or {port.flag}, 0 for none")
    return Finding(
        grade=Grade.FAIL,
        text=text,
        remedy=f"choose another port with {port.flag}, for both roles, or end that process",
        code=int(ExitCode.CONFIG),
    )


def login(seen: Checkup) -> Iterator[Finding]:
    """Say what came of the login, where one was asked for."""
    if seen.login is not None:
        yield tried(seen.login)


def reached(seen: Checkup) -> Iterator[Finding]:
    """Say of each worker how far it was reached, the worst first; and why where nobody was asked."""
    if seen.reached is not None and not seen.reached:
        trials = (seen.hosts, seen.user.account, seen.ssh, seen.keys)
        hindered = any(trial.fault for trial in trials)
        yield doubtful(
            "nobody was asked" if hindered else "nobody was asked: no worker is known yet",
            "mend first what will fail above" if hindered else "ask again when they have come up",
        )
    order = [Grade.FAIL, Grade.WARNING, Grade.OK]
    for one in sorted(seen.reached or (), key=lambda one: order.index(one.grade)):
        text = f"{one.name}: {one.text} ({one.seconds:.1f} s)"
        if one.grade is Grade.OK:
            yield good(text)
        elif one.grade is Grade.WARNING:
            yield doubtful(text, "the launcher waits for it (--wait-timeout); is the worker up?")
        else:
            yield Finding(
                grade=Grade.FAIL,
                text=text,
                remedy="give launcher and workers the same key material and the same user",
                code=int(ExitCode.NOT_READY),
            )


def _words(text: str, key: str) -> list[str]:
    """Read an entry of resolv.conf; of several `search` lines the last one counts."""
    lines = [line.split() for line in text.splitlines()]
    found = [line[1:] for line in lines if line and line[0] == key]
    if key == "search":
        return found[-1] if found else []
    return [word for line in found for word in line[:1]]


def _is_here(one: Asked) -> bool:
    return all(map(_loopback, one.addresses))


def _loopback(address: str) -> bool:
    return ipaddress.ip_address(address.partition("%")[0]).is_loopback
