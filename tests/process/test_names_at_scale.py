"""Names of a cluster's DNS: few queries while they appear, few while ports are closed, no time lost."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

from mpiboot.local.cluster import Bind
from tests.helpers import nameserver
from tests.helpers.agents import Agents, program
from tests.helpers.nameserver import Query, Server

RING = program("ring.py")
DOMAIN = "job.ns.svc.cluster.local"
NOT_READY = 240
NOBODY = "10.77.200"  # no pod has these addresses


def resolving_by(server: Server) -> dict[str, Any]:
    """Give a pod the resolver of a Kubernetes pod."""
    bind = Bind(source=str(server.resolv_conf), target="/etc/resolv.conf", read_only=True)
    return {"binds": (bind,)}


def zone(published: list[tuple[str, str, float]]) -> str:
    """Write records of pods, each beside that of the headless Service, as clusters publish them."""
    return "".join(
        f"{name}.{DOMAIN} {address} {at_s}\n{DOMAIN} {address} {at_s}\n"
        for name, address, at_s in published
    )


def of(queries: list[Query], name: str) -> list[float]:
    return [query.at_s for query in queries if query.name == name]


def test_64_names_that_appear_one_by_one(agents: Agents, tmp_path: Path) -> None:
    """Each name costs a query a second at most, the Service four; nothing follows the search list."""
    server = nameserver.start(agents, tmp_path / "zone")
    pods = [(f"w-{number}", f"{NOBODY}.{number + 1}", number / 8) for number in range(64)]
    (tmp_path / "zone").write_text(zone(pods))
    hosts = ",".join(f"{name}.job.ns.svc" for name, _, _ in pods)
    launcher = agents.launcher(
        "true", hosts=hosts, options=["--wait-timeout", "10"], **resolving_by(server)
    )
    assert launcher.wait(30) == NOT_READY
    queries = server.queries()
    lasted_s = queries[-1].at_s - queries[0].at_s
    counts = nameserver.per_name(queries)
    assert set(counts) >= {f"{name}.{DOMAIN}" for name, _, _ in pods}
    for name, _, _ in pods:
        times = of(queries, f"{name}.{DOMAIN}")
        assert len(times) <= lasted_s + 2, (name, times)
        assert all(later - sooner > 0.9 for sooner, later in itertools.pairwise(times))
    assert counts[DOMAIN] <= 4 * lasted_s + 2
    strays = sum(count for name, count in counts.items() if not name.endswith(DOMAIN))
    assert strays <= 5 * (1 + lasted_s / 8), (
        counts
    )  # one name of the shape is looked for in all forms
    assert all(query.kind == "A" for query in queries if query.name != DOMAIN), counts
    assert f"{DOMAIN} has " in launcher.log


def test_names_that_never_come_cost_little(agents: Agents, tmp_path: Path) -> None:
    """While the Service's answer does not grow, those who are missing are hardly asked for."""
    server = nameserver.start(agents, tmp_path / "zone")
    (tmp_path / "zone").write_text(zone([("w-0", server.agent.pod.address, 0)]))
    hosts = ",".join(f"w-{number}.job" for number in range(64))
    launcher = agents.launcher(
        "true", hosts=hosts, options=["--wait-timeout", "10"], **resolving_by(server)
    )
    assert launcher.wait(30) == NOT_READY
    assert f"{DOMAIN} has 1 addresses" in launcher.log
    missing = [
        q for q in server.queries() if q.name.startswith("w-") and not q.name.startswith("w-0.")
    ]
    assert len(missing) <= 63 * 3 + 10, len(missing)


def test_a_job_starts_soon_after_the_last_name(agents: Agents, tmp_path: Path) -> None:
    """Workers whose names come at 0 s and 3 s: their job runs within 2 s of the latter."""
    server = nameserver.start(agents, tmp_path / "zone")
    spec = resolving_by(server)
    first, second = (agents.worker(name, listed=False, **spec) for name in ("w-0", "w-1"))
    (tmp_path / "zone").write_text(zone([("w-0", first.pod.address, 0)]))
    first.until_ready()
    second.until_ready()
    launcher = agents.launcher(*RING, hosts="w-0.job.ns.svc:1,w-1.job.ns.svc:1", **spec)
    launcher.until_logged("ready 1/2")
    begun = time.monotonic()
    (tmp_path / "zone").write_text(
        zone([("w-0", first.pod.address, 0), ("w-1", second.pod.address, 0)])
    )
    assert launcher.wait(30) == 0, launcher.log
    assert time.monotonic() - begun < 4
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w-0", "OK 1/2 w-1"]
    print("queries:", nameserver.per_name(server.queries()))  # noqa: T201 - shown where it fails
    server.agent.pod.kill()
    agents.all.remove(server.agent)
    agents.assert_global()


def test_a_published_name_with_a_closed_port_is_kept(agents: Agents, tmp_path: Path) -> None:
    """A port is tried many times a second; its name is not looked up each time."""
    server = nameserver.start(agents, tmp_path / "zone")
    (tmp_path / "zone").write_text(zone([("w-0", server.agent.pod.address, 0)]))
    launcher = agents.launcher(
        "true", hosts="w-0.job", options=["--wait-timeout", "5"], **resolving_by(server)
    )
    assert launcher.wait(20) == NOT_READY
    assert len(of(server.queries(), f"w-0.{DOMAIN}")) <= 7


def test_names_of_the_hosts_file_need_no_server(agents: Agents, tmp_path: Path) -> None:
    """In a pod with a cluster's resolver, too: hostAliases are told by /etc/hosts alone."""
    server = nameserver.start(agents, tmp_path / "zone")
    worker = agents.worker("w1")
    launcher = agents.launcher(
        *RING,
        hosts="w1:1,alias.of.mine:1",
        hosts_lines=(f"{worker.pod.address} alias.of.mine",),
        **resolving_by(server),
        options=["--wait-timeout", "10", "--debug"],
    )
    launcher.until_logged("mpiboot run", 20)
    assert [q for q in server.queries() if q.name.startswith(("w1", "alias"))] == []
    launcher.pod.kill()


def test_net_04_a_network_that_comes_late(agents: Agents, tmp_path: Path) -> None:
    """A launcher without network at first, as beside a mesh's proxy, starts its job all the same."""
    server = nameserver.start(agents, tmp_path / "zone")
    spec = resolving_by(server)
    worker = agents.worker("w-0", listed=False, **spec)
    (tmp_path / "zone").write_text(zone([("w-0", worker.pod.address, 0)]))
    worker.until_ready()
    launcher = agents.launcher(*RING, hosts="w-0.job:1", **spec)
    launcher.pod.cut()
    launcher.until_logged("ready 0/1")
    launcher.pod.join()
    assert launcher.wait(30) == 0, launcher.log
    assert launcher.out == b"OK 0/1 w-0\n"


def test_an_indexed_job_from_its_environment(agents: Agents, tmp_path: Path) -> None:
    """Three pods with an index, a subdomain and one command: pod 0 launches, and all compute."""
    server = nameserver.start(agents, tmp_path / "zone")
    pods = [
        agents.mpiboot(
            f"pi-{index}",
            ["--", *RING],
            env={"JOB_COMPLETION_INDEX": str(index), "MPIBOOT_WORKERS": "3", "MPIBOOT_SLOTS": "1"},
            aliases=(f"pi-{index}.{DOMAIN}",),  # in its own /etc/hosts, as the kubelet writes it
            listed=False,
            **resolving_by(server),
        )
        for index in (2, 1, 0)
    ]
    (tmp_path / "zone").write_text(zone([(one.name, one.pod.address, 0) for one in pods]))
    launcher = pods[-1]
    assert launcher.wait(60) == 0, launcher.log
    assert sorted(launcher.out.decode().splitlines()) == [
        "OK 0/3 pi-0",
        "OK 1/3 pi-1",
        "OK 2/3 pi-2",
    ]
    assert [one.wait(30) for one in pods] == [0, 0, 0]
