"""dstack, distributed tasks: every node runs the same commands and knows the addresses of all.

Facts: dstack documentation, "Environment variables" and "Distributed tasks". DSTACK_NODES_IPS has one
address a line, the master's first. Containers use the host's network, whose sshd has port 22;
dstack's own sshd in the container has 10022.
"""

from __future__ import annotations

from mpiboot.platforms.nodelist import Kind

_KIND = Kind(
    name="dstack",
    addresses="DSTACK_NODES_IPS",
    rank="DSTACK_NODE_RANK",
    gpus="DSTACK_GPUS_PER_NODE",
    port_22="the host's sshd has port 22 of the network that tasks share",
)

NAME, VARIABLES = _KIND.name, _KIND.variables
files, identify, source, suggest = _KIND.files, _KIND.identify, _KIND.source, _KIND.suggest
