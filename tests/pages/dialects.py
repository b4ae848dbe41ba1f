"""What each MPI is told for the same wish: the words that it adds to the call, asked of the code."""

from __future__ import annotations

from typing import Any

from mpiboot.model.record import replace
from mpiboot.mpi import DIALECTS
from mpiboot.mpi.protocol import Dialect, Export, Invocation, Node, Request
from tests.pages.tables import code, table

_NODES = (Node(name="w1", slots=2), Node(name="w2", slots=2))
# What is wished for, and how a request says it. Two hosts with two slots each.
_WISHES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("`--bind-to none`", {"bind_to": "none", "why_bound": "yours"}),
    ("`--bind-to core`", {"bind_to": "core", "why_bound": "yours"}),
    ("`--map-by node`", {"map_by": "node"}),
    ("`--oversubscribe`, `-np 8`", {"oversubscribe": True, "np": 8}),
    ("`--mca pml ob1`", {"mca": ("pml=ob1",)}),
    ("`-x NAME`", {"exports": (Export(name="NAME", value=None, reason="yours"),),
                   "environ": {"NAME": "value"}}),
    ("one network of several", {"networks": ("10.0.0.0/8",), "interface": "eth0",
                                "own_address": "10.0.0.1", "own_interface": "eth0"}),
    ("fewer CPUs than slots", {"busy": True}),
    ("root", {"as_root": True}),
    ("`--tag-output`, no wrapper", {"tag_output": True}),
    ("`--timestamp-output`, no wrapper", {"timestamp_output": True}),
)  # fmt: skip


def markdown() -> str:
    """Render a column for each MPI."""
    names = [dialect.NAME for dialect in DIALECTS]
    rows = [
        ("program", *(code(dialect.PROGRAM) for dialect in DIALECTS)),
        ("its daemons", *(", ".join(map(code, dialect.DAEMONS)) for dialect in DIALECTS)),
        ("a line of the hostfile", *(code(_line(dialect)) for dialect in DIALECTS)),
    ]
    for wish, words in _WISHES:
        rows.append((wish, *(_answer(dialect, words) for dialect in DIALECTS)))
    return table(("", *names), rows)


def _line(dialect: Dialect) -> str:
    return dialect.hostfile(_NODES, "").splitlines()[0]


def _answer(dialect: Dialect, wish: dict[str, Any]) -> str:
    plain = Request(
        mpirun="/usr/bin/mpirun", hostfile="HOSTFILE", ssh_config="SSH_CONFIG", np=4, nodes=2,
        as_root=False, command=("PROGRAM",), horovod=False, environ={}, site_params={},
    )  # fmt: skip
    wished = replace(plain, **wish)
    if dialect.unsupported(wished):
        return "refused"
    before, after = dialect.invocation(plain), dialect.invocation(wished)
    more = [code(" ".join(group)) for group in _groups(after) if group not in _groups(before)]
    if wish.get("map_by") and dialect.hostfile(_NODES, wish["map_by"]) != dialect.hostfile(
        _NODES, ""
    ):
        more.append("by the hostfile")
    return ", ".join(more) or "nothing needed"


def _groups(call: Invocation) -> list[tuple[str, ...]]:
    """List groups of words, and variables, without the number of ranks, which is the same for all."""
    groups = [one.words for one in call.words if not {"-n", "-np", "PROGRAM"} & set(one.words)]
    return [*groups, *((f"{one.name}={one.value}",) for one in call.variables)]
