"""What the launcher's own container offers to a job, as plans take it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mpiboot.model.facts import Facts
from mpiboot.model.record import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Ground:
    """What the launcher's own container offers.

    Attributes:
        mpirun: how to call it.
        version: its version.
        mpi: name and version together, as workers tell theirs.
        hostname: the container's hostname.
        user: default login name on the workers.
        as_root: whether the agent runs as uid 0.
        directory: where the plan's files go.
        identity: path of the private user key.
        host_keys: `type base64` of each key that workers may show.
        known_hosts: text of the user's own known_hosts file.
        port: default port of the workers' sshd.
        own_address: address of this container as the workers reach it; empty when not known.
        facts: what this container tells of itself.
        standin: how the program behind the stand-ins is called.
        link: path of this agent's own socket.
        no_stdin: whether this program's stdin is /dev/null.
        nonce: a mark that no program can guess, for framed output.
        site_params: parameters of the site's own MCA file.
        environ: the environment for the job: the container's, less the agent's own variables.
        prte: path of the program that starts daemons which stay; empty: there is none.
        masters: host → the socket at which its lease is shared; others are logged in to.
    """

    mpirun: str
    version: str
    mpi: str
    hostname: str
    user: str
    as_root: bool
    directory: str
    identity: str
    host_keys: Sequence[str]
    known_hosts: str
    port: int
    own_address: str
    facts: Facts
    standin: Sequence[str]
    link: str
    no_stdin: bool
    nonce: str
    site_params: Mapping[str, str]
    environ: Mapping[str, str]
    prte: str = ""
    masters: Mapping[str, str] = field(default_factory=dict)

    @property
    def own_interface(self) -> str:
        """The interface that has the address at which workers see this container; empty: unknown."""
        for net in self.facts.networks:
            if net.cidr.partition("/")[0] == self.own_address:
                return net.name
        return ""
