"""Hostfiles, host lists, settings files and resolv.conf: hosts within bounds, or one clear error."""

from __future__ import annotations

from mpiboot.errors import ConfigError, ProblemsError
from mpiboot.model import hosts, options, zone
from mpiboot.model.hosts import MAX_HOSTS, MAX_SLOTS, Listed
from mpiboot.model.options import ConfigFile

SEEDS = (
    b"w1 slots=2\nw2 slots = 2 max_slots=4\n# comment\nuser@w3 port=2222\n",
    b"worker-[0-7].train:2,b:2,[fe80::1]:4",
    b"announce:4:0",
    b"dns:workers",
    b"np: 4\nslots: auto\nexport:\n  A: b\n  C: d\nwait-timeout: 10m\n",
    b"search ns.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.0.0.1\n",
    b"10.0.0.7\tw-0.workers.ns.svc.cluster.local\tw-0\n",
)
_LONGEST = 6000  # of a message, from 4 KiB of input


def judge(data: bytes) -> None:
    """Read the bytes in every way in which hosts and settings are read."""
    text = data.decode(errors="replace")
    for read in (_hostfile, _source):
        try:
            found = read(text)
        except ConfigError as fault:
            assert len(str(fault)) < _LONGEST
            continue
        if isinstance(found, Listed):
            _sound(found)
    try:
        options.resolve({}, {}, ConfigFile(name="c.yaml", text=text), [])
    except ProblemsError as fault:
        assert all(len(one) < _LONGEST and one.isprintable() for one in fault.problems)
    zone.read(text)
    zone.told(text)


def _hostfile(text: str) -> object:
    return hosts.parse_hostfile(text, "hosts")


def _source(text: str) -> object:
    return hosts.parse_source(text, 0)


def _sound(found: Listed) -> None:
    assert 0 < len(found.hosts) <= MAX_HOSTS
    for host in found.hosts:
        assert host.name == hosts.checked_name(host.name)
        assert not host.name.startswith("-")
        assert host.port is None or 0 < host.port < 65536
        assert host.slots is None or 0 < host.slots <= MAX_SLOTS * MAX_HOSTS
        assert host.user is None or (host.user.isprintable() and not host.user.startswith("-"))
