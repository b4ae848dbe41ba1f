"""The script that prints the live workers with their slots, a line each, as Horovod wants it."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Node
from mpiboot.plan import layout
from mpiboot.plan.gather import Seen

VARIABLE = "MPIBOOT_DISCOVERY"  # tells the job's command where the script is
MODE = 0o755
_NAME = "discover_hosts.sh"
_HEAD = """\
#!/bin/sh
# The workers that answer, with their slots; mpiboot writes it anew whenever one comes or goes.
"""


def path(settings: Settings, directory: str) -> str:
    """Return where the script is: it stays there for the whole run.

    Args:
        settings: the user's.
        directory: the agent's private directory.
    """
    return settings.discovery_script or f"{directory}/{_NAME}"


def live(
    seen: Sequence[Seen],
    settings: Settings,
    own_hostname: str,
    members: Collection[str] | None = None,
) -> list[Node]:
    """List those to whom a login works now, by the names that mpirun and ssh know, in the job's order.

    Args:
        seen: all hosts.
        settings: the user's.
        own_hostname: this container's hostname.
        members: those who take part, by the user's names; None: not decided yet.
    """
    taking = [one for one in seen if members is None or one.host.name in members]
    places = layout.settle(
        [one for one in taking if one.reach.ready],
        own_hostname=own_hostname,
        slots=settings.slots,
        calls=layout.calls(settings),
        among=taking,
    )
    return [Node(name=place.node, slots=place.slots) for place in places]


def script(nodes: Sequence[Node]) -> str:
    """Render the script; it needs a shell and nothing else, for it runs every second.

    Nobody is live: it prints nothing, and that is no failure.
    """
    lines = (f"printf '%s\\n' {shlex.quote(f'{node.name}:{node.slots}')}\n" for node in nodes)
    return f"{_HEAD}{''.join(lines)}"
