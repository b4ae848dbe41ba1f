"""The discovery script is a shell script that any name survives."""

from __future__ import annotations

import subprocess

from hypothesis import given, settings
from hypothesis import strategies as st

from mpiboot.model.hosts import Host
from mpiboot.model.settings import Settings
from mpiboot.mpi.protocol import Node
from mpiboot.plan import discovery
from mpiboot.plan.gather import Reach, Seen


def run(nodes: list[Node]) -> list[str]:
    """Run the script with the shell's own commands only; return what it prints."""
    words = ["/bin/sh", "-e", "-c", discovery.script(nodes)]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={"PATH": ""})
    return done.stdout.splitlines()


def test_a_line_for_each_host() -> None:
    """Horovod's form, and little more text than that."""
    nodes = [Node(name="w1", slots=2), Node(name="10.0.0.7", slots=8)]
    assert run(nodes) == ["w1:2", "10.0.0.7:8"]
    assert discovery.script(nodes).startswith("#!/bin/sh\n")
    assert len(discovery.script(nodes).splitlines()) <= 10 + len(nodes)


def test_nobody_is_no_failure() -> None:
    """A script that fails ends horovodrun; one that prints nothing is asked again."""
    assert run([]) == []


@settings(max_examples=25)
@given(
    st.lists(st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1), max_size=4)
)
def test_any_name_is_printed_as_it_is(names: list[str]) -> None:
    """No name is a command, an option or a format."""
    assert run([Node(name=name, slots=1) for name in names]) == [f"{name}:1" for name in names]


def host(name: str, reach: Reach, slots: int | None = None, **more: object) -> Seen:
    return Seen(host=Host(name=name, slots=slots), reach=reach, **more)  # type: ignore[arg-type]


def test_live_are_those_with_a_login() -> None:
    """In the job's order, by the names of the hostfile, with the slots of the layout."""
    seen = [
        host("w2", Reach.READY, 2, address="10.0.0.2"),
        host("w3", Reach.REFUSED, 2),
        host("my_w", Reach.PLAIN, address="10.0.0.4"),
        host("me", Reach.READY, 1, here=True),
    ]
    chosen = Settings(slots="3")
    nodes = [Node(name="w2", slots=2), Node(name="10.0.0.4", slots=3), Node(name="self", slots=1)]
    assert discovery.live(seen, chosen, "self") == nodes
    assert discovery.live(seen, chosen, "self", {"my_w"}) == [nodes[1]]
    assert discovery.live(seen, chosen, "self", set()) == []


def test_its_place_is_told_and_can_be_chosen() -> None:
    """Below the private directory, or where the user wants it."""
    assert discovery.path(Settings(), "/run/mpiboot/launcher").startswith("/run/mpiboot/launcher/")
    assert discovery.path(Settings(discovery_script="/etc/mpi/x"), "/run") == "/etc/mpi/x"
