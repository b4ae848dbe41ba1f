"""The tests' DNS server as a pod of its own, and the resolver of a Kubernetes pod for the others.

server = nameserver.start(agents, tmp_path / "dns")
server.write({"w-0.job.ns.svc.cluster.local": {"10.77.0.5": time.monotonic() + 3}})
agents.worker("w-0", **server.spec)
server.queries()
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mpiboot.local.cluster import Bind
from tests.helpers import dns
from tests.helpers.agents import Agent, Agents
from tests.helpers.dns import Query, Records

SEARCH = "ns.svc.cluster.local svc.cluster.local cluster.local"


@dataclass(frozen=True, kw_only=True)
class Nameserver:
    """A server that is PID 1 of a pod.

    Attributes:
        agent: its pod.
        directory: with its zone, and the resolv.conf of pods that ask it.
    """

    agent: Agent
    directory: Path

    @property
    def spec(self) -> dict[str, Any]:
        """What a pod is started with so that it asks this server."""
        conf = self.directory / "resolv.conf"
        return {"binds": (Bind(source=str(conf), target="/etc/resolv.conf", read_only=True),)}

    def write(self, records: Records) -> None:
        """Let it know these records and no others."""
        dns.write(self.directory / "zone.json", records)

    def queries(self) -> list[Query]:
        """List all questions so far, in order."""
        return [Query.of(line) for line in self.agent.out.decode().splitlines()]


def start(agents: Agents, directory: Path, *, search: str = SEARCH) -> Nameserver:
    """Start a server in a pod, and write the resolv.conf that a Kubernetes pod would have."""
    directory.mkdir()
    argv = (sys.executable, "-I", "-u", dns.__file__, str(directory / "zone.json"))
    agent = agents.start("nameserver", argv)
    (directory / "resolv.conf").write_text(
        f"search {search}\nnameserver {agent.pod.address}\noptions ndots:5 timeout:1\n"
    )
    agent.until_logged("serving")
    return Nameserver(agent=agent, directory=directory)
