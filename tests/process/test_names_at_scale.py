"""Names of a cluster's DNS: few queries while they appear, few while ports are closed, no time lost."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.helpers import dns, nameserver
from tests.helpers.agents import Agents, program
from tests.helpers.dns import Query, Records
from tests.helpers.mpis import MPIS, OPENMPI4, Mpi

RING = program("ring.py")
DOMAIN = "job.ns.svc.cluster.local"
NOT_READY = 240
NOBODY = "10.77.200"  # no pod has these addresses


def zone(*pods: tuple[str, str, float]) -> Records:
    """Make the records of pods, each beside that of the headless Service, as clusters publish them.

    Args:
        pods: names, addresses, and seconds until they are published.
    """
    now = time.monotonic()
    records: dict[str, dict[str, float]] = {DOMAIN: {}}
    for name, address, after_s in pods:
        records[f"{name}.{DOMAIN}"] = {address: now + after_s}
        records[DOMAIN][address] = now + after_s
    return records


def of(queries: list[Query], name: str) -> list[float]:
    return [query.at_s for query in queries if query.name == name]


def test_64_names_that_appear_one_by_one(agents: Agents, tmp_path: Path) -> None:
    """Each name costs a query a second at most, the Service a look four times; no search list."""
    server = nameserver.start(agents, tmp_path / "dns")
    pods = [(f"w-{number}", f"{NOBODY}.{number + 1}", number / 8) for number in range(64)]
    server.write(zone(*pods))
    hosts = ",".join(f"{name}.job.ns.svc" for name, _, _ in pods)
    launcher = agents.launcher("true", hosts=hosts, options=["--wait-timeout", "10"], **server.spec)
    assert launcher.wait(30) == NOT_READY
    queries = server.queries()
    lasted_s = queries[-1].at_s - queries[0].at_s
    counts = dns.per_name(queries)
    assert set(counts) >= {f"{name}.{DOMAIN}" for name, _, _ in pods}
    for name, _, _ in pods:
        times = of(queries, f"{name}.{DOMAIN}")
        assert len(times) <= lasted_s + 2, (name, times)
        # They leave in time; how late the server hears of each depends on the machine.
        assert all(later - sooner > 0.5 for sooner, later in itertools.pairwise(times))
    # An answer of more than 29 addresses is cut, and the resolver asks once more, over TCP.
    over = Counter(query.over for query in queries if query.name == DOMAIN)
    assert over[dns.TCP] <= over[dns.UDP] <= 4 * lasted_s + 2
    strays = sum(count for name, count in counts.items() if not name.endswith(DOMAIN))
    # One name of the shape is looked for in all forms.
    assert strays <= 5 * (1 + lasted_s / 8), counts
    assert all(query.kind == "A" for query in queries if query.name != DOMAIN), counts
    assert f"{DOMAIN} has " in launcher.log


def test_names_that_never_come_cost_little(agents: Agents, tmp_path: Path) -> None:
    """While the Service's answer does not grow, those who are missing are hardly asked for."""
    server = nameserver.start(agents, tmp_path / "dns")
    server.write(zone(("w-0", server.agent.pod.address, 0)))
    hosts = ",".join(f"w-{number}.job" for number in range(64))
    launcher = agents.launcher("true", hosts=hosts, options=["--wait-timeout", "10"], **server.spec)
    assert launcher.wait(30) == NOT_READY
    assert f"{DOMAIN} has 1 address" in launcher.log
    missing = [
        q for q in server.queries() if q.name.startswith("w-") and not q.name.startswith("w-0.")
    ]
    assert len(missing) <= 63 * 3 + 10, len(missing)


def test_a_job_starts_soon_after_the_last_name(agents: Agents, tmp_path: Path) -> None:
    """Workers whose names come at 0 s and 3 s: their job runs within 2 s of the latter."""
    server = nameserver.start(agents, tmp_path / "dns")
    spec = server.spec
    first, second = (agents.worker(name, listed=False, **spec) for name in ("w-0", "w-1"))
    server.write(zone(("w-0", first.pod.address, 0)))
    first.until_ready()
    second.until_ready()
    launcher = agents.launcher(*RING, hosts="w-0.job.ns.svc:1,w-1.job.ns.svc:1", **spec)
    launcher.until_logged("ready 1/2")
    begun = time.monotonic()
    server.write(zone(("w-0", first.pod.address, 0), ("w-1", second.pod.address, 0)))
    assert launcher.wait(30) == 0, launcher.log
    assert time.monotonic() - begun < 4
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w-0", "OK 1/2 w-1"]
    print("queries:", dns.per_name(server.queries()))  # noqa: T201 - shown where it fails
    server.agent.pod.kill()
    agents.all.remove(server.agent)
    agents.assert_global()


def test_a_published_name_with_a_closed_port_is_kept(agents: Agents, tmp_path: Path) -> None:
    """A port is tried many times a second; its name is not looked up each time."""
    server = nameserver.start(agents, tmp_path / "dns")
    server.write(zone(("w-0", server.agent.pod.address, 0)))
    launcher = agents.launcher(
        "true", hosts="w-0.job", options=["--wait-timeout", "5"], **server.spec
    )
    assert launcher.wait(20) == NOT_READY
    assert len(of(server.queries(), f"w-0.{DOMAIN}")) <= 7


def test_names_of_the_hosts_file_need_no_server(agents: Agents, tmp_path: Path) -> None:
    """In a pod with a cluster's resolver, too: hostAliases are told by /etc/hosts alone."""
    server = nameserver.start(agents, tmp_path / "dns")
    worker = agents.worker("w1")
    launcher = agents.launcher(
        *RING,
        hosts="w1:1,alias.of.mine:1",
        hosts_lines=(f"{worker.pod.address} alias.of.mine",),
        **server.spec,
        options=["--wait-timeout", "10", "--debug"],
    )
    launcher.until_logged("mpiboot run", 20)
    assert [q for q in server.queries() if q.name.startswith(("w1", "alias"))] == []
    launcher.pod.kill()


def test_net_04_a_network_that_comes_late(agents: Agents, tmp_path: Path) -> None:
    """A launcher without network at first, as beside a mesh's proxy, starts its job all the same."""
    server = nameserver.start(agents, tmp_path / "dns")
    spec = server.spec
    worker = agents.worker("w-0", listed=False, **spec)
    server.write(zone(("w-0", worker.pod.address, 0)))
    worker.until_ready()
    launcher = agents.launcher(*RING, hosts="w-0.job:1", **spec)
    launcher.pod.cut()
    launcher.until_logged("ready 0/1")
    launcher.pod.join()
    assert launcher.wait(30) == 0, launcher.log
    assert launcher.out == b"OK 0/1 w-0\n"


def test_an_indexed_job_from_its_environment(agents: Agents, tmp_path: Path) -> None:
    """Three pods with one command: pod 0 launches, and all compute; its own record never comes."""
    server = nameserver.start(agents, tmp_path / "dns")
    pods = [
        agents.mpiboot(
            f"pi-{index}",
            ["--", *RING],
            env={"JOB_COMPLETION_INDEX": str(index), "MPIBOOT_WORKERS": "3", "MPIBOOT_SLOTS": "1"},
            aliases=(f"pi-{index}.{DOMAIN}",),  # in its own /etc/hosts, as the kubelet writes it
            listed=False,
            **server.spec,
        )
        for index in (2, 1, 0)
    ]
    launcher = pods[-1]
    server.write(zone(*((one.name, one.pod.address, 0) for one in pods[:-1])))
    assert launcher.wait(60) == 0, launcher.log
    assert sorted(launcher.out.decode().splitlines()) == [
        "OK 0/3 pi-0",
        "OK 1/3 pi-1",
        "OK 2/3 pi-2",
    ]
    assert [one.wait(30) for one in pods] == [0, 0, 0]
    assert [query for query in server.queries() if query.name.startswith("pi-0")] == []


def test_a_jobset_on_its_nodes_network(agents: Agents, tmp_path: Path) -> None:
    """Hostnames are the nodes': the set's numbers tell which pod this is, and it needs no record."""
    server = nameserver.start(agents, tmp_path / "dns")
    told = {"JOBSET_NAME": "js", "REPLICATED_JOB_NAME": "w", "JOB_INDEX": "0"}
    told |= {"MPIBOOT_WORKERS": "2", "MPIBOOT_SLOTS": "1"}
    nodes = [
        agents.mpiboot(
            f"node-{index}",
            ["--", *RING],
            env={**told, "JOB_COMPLETION_INDEX": str(index)},
            listed=False,
            **server.spec,
        )
        for index in (0, 1)
    ]
    address = nodes[1].pod.address
    server.write({"js-w-0-1.js.ns.svc.cluster.local": {address: 0.0}})
    assert nodes[0].wait(60) == 0, nodes[0].log
    assert sorted(nodes[0].out.decode().splitlines()) == ["OK 0/2 node-0", "OK 1/2 node-1"]
    assert nodes[1].wait(30) == 0


def test_name_09_a_worker_that_is_made_anew(agents: Agents, tmp_path: Path) -> None:
    """One that was ready comes back under its name at another address, before the last one comes."""
    server = nameserver.start(agents, tmp_path / "dns")
    first = agents.worker("w-0", listed=False, **server.spec)
    server.write(zone(("w-0", first.pod.address, 0)))
    options = ("--log-level", "debug")
    launcher = agents.launcher(*RING, hosts="w-0.job:1,w-1.job:1", options=options, **server.spec)
    launcher.until_logged("w-0.job: ready after")
    first.pod.kill()
    first.wait()
    launcher.until_logged("w-0.job went away again")
    again, last = (agents.worker(name, listed=False, **server.spec) for name in ("w-0", "w-1"))
    assert again.pod.address != first.pod.address
    server.write(zone(("w-0", again.pod.address, 0), ("w-1", last.pod.address, 0)))
    assert launcher.wait(30) == 0, launcher.log
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w-0", "OK 1/2 w-1"]


# What `mpirun` asks for each `w-N.job.ns.svc` of its hostfile, as docs/kubernetes.md tells it.
ASKED = {"openmpi4": 24, "openmpi5": 0, "mpich": 3, "intelmpi": 0}


@pytest.mark.parametrize(
    ("mpi", "calls"),
    [*((mpi, "name") for mpi in MPIS), (OPENMPI4, "address")],
    ids=str,
)
def test_what_mpirun_asks(agents: Agents, tmp_path: Path, mpi: Mpi, calls: str) -> None:
    """It asks as often as the page says where hosts have names, and nothing where addresses."""
    mpi.need()
    server = nameserver.start(agents, tmp_path / "dns")
    spec = {**mpi.pod, **server.spec}
    workers = [agents.worker(name, listed=False, **spec) for name in ("w-0", "w-1")]
    server.write(zone(*((one.name, one.pod.address, 0) for one in workers)))
    for one in workers:
        one.until_ready()
    launcher = agents.launcher(
        *mpi.python_program("ring.py"),
        hosts="w-0.job.ns.svc:1,w-1.job.ns.svc:1",
        options=[*mpi.options, "--hostfile-names", calls],
        **spec,
    )
    assert launcher.wait(60) == 0, launcher.log
    asked = Counter(query.name.partition(".")[0] for query in server.queries())
    most = ASKED[mpi.name] if calls == "name" else 0
    for one in workers:
        assert 1 <= asked[one.name] <= 1 + most, asked  # the launcher itself asks once
