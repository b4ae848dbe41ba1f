"""SkyPilot: every node runs the same command and knows the addresses of all, its rank, its GPUs.

Facts: SkyPilot documentation, "Distributed Multi-Node Jobs". SKYPILOT_NODE_IPS has one address a line,
the head's first; the command runs on the node itself, beside the node's own sshd.
"""

from __future__ import annotations

from mpiboot.platforms.nodelist import Kind

_KIND = Kind(
    name="SkyPilot",
    addresses="SKYPILOT_NODE_IPS",
    rank="SKYPILOT_NODE_RANK",
    gpus="SKYPILOT_NUM_GPUS_PER_NODE",
    port_22="the node's own sshd has port 22",
)

NAME, VARIABLES = _KIND.name, _KIND.variables
files, identify, source, suggest = _KIND.files, _KIND.identify, _KIND.source, _KIND.suggest
