"""Workers of one machine share its CPUs: who is bound to none, and whose ranks must not spin."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.facts import Facts
from mpiboot.plan import sharing
from mpiboot.plan.layout import Place
from mpiboot.plan.sharing import Sharing
from mpiboot.runtime import inspect

Told = tuple[int, float, str, str]  # slots, CPUs, list of CPUs, machine


def look(*workers: Told | None) -> Sharing:
    places = [
        Place(
            name=f"w{number}", node=f"w{number}", slots=one[0] if one else 1,
            address=f"10.0.0.{number}", port=22, user="", why="",
        )
        for number, one in enumerate(workers, 1)
    ]  # fmt: skip
    facts = [
        Facts(cpus=one[1], cpu_list=one[2], machine=one[3]) if one else None for one in workers
    ]
    return sharing.look(places, facts)


ENOUGH = {
    "one worker": [(4, 4, "0-3", "m")],
    "two machines": [(4, 4, "0-3", "m"), (4, 4, "0-3", "n")],
    "machines that do not tell": [(4, 4, "0-3", ""), (4, 4, "0-3", "")],
    "CPUs of its own for each": [(2, 2, "0-1", "m"), (2, 2, "2,3", "m")],
    "a plain sshd": [(4, 4, "0-3", "m"), None],
    "no list that can be read": [(4, 4, "0-3", "m"), (4, 4, "3-0", "m"), (4, 4, "x", "m")],
}


@pytest.mark.parametrize("workers", ENOUGH.values(), ids=ENOUGH)
def test_workers_that_share_nothing(workers: list[Told | None]) -> None:
    """Their MPI may bind ranks, and let them spin."""
    assert look(*workers) == Sharing()


def test_workers_of_one_machine_that_has_enough_cpus() -> None:
    """Two with a rank each would both bind it to the first CPU; these may spin."""
    assert look((1, 2, "0-1", "m"), (1, 2, "0-1", "m")) == Sharing(shared=True)
    assert look((1, 2, "0,1", "m"), (1, 1, "1", "m"), (8, 8, "0-7", "n")) == Sharing(shared=True)


def test_more_ranks_than_a_machine_has_cpus() -> None:
    """Each worker for itself has enough of them."""
    told = "w1, w2, w3 and 1 more share 2 CPUs for 4 slots: waiting ranks let others run"
    assert look(*[(1, 2, "0-1", "m")] * 4) == Sharing(shared=True, crowds=(told,))
    by_quota = look((2, 1.5, "0-63", "m"), (1, 1, "0-63", "m"))
    assert by_quota.crowds == (
        "w1 has 1.5 CPUs for 2 slots: waiting ranks let others run",
    )  # said of the one that has too few itself
    assert look((1, 1, "0-63", "m"), (1, 1, "0-63", "m")).crowds == ()


def test_sets_that_a_third_one_joins() -> None:
    """Four ranks for three CPUs, though no two of the workers have too few."""
    found = look((1, 1, "0", "m"), (1, 1, "2", "m"), (2, 3, "0-2", "m"))
    assert found.crowds == ("w1, w2, w3 share 3 CPUs for 4 slots: waiting ranks let others run",)


@given(st.permutations(["0-1", "1-2", "2-3", "3-4", "4"]))
def test_a_chain_of_sets_is_one_group(lists: list[str]) -> None:
    """In whatever order the workers come: six ranks for five CPUs."""
    found = look((2, 2, lists[0], "m"), *((1, 1, cpus, "m") for cpus in lists[1:]))
    told = "w1, w2, w3 and 2 more share 5 CPUs for 6 slots: waiting ranks let others run"
    assert found.crowds == (told,)


def test_a_worker_alone_with_fewer_cpus_than_slots() -> None:
    """Whatever machine it is on."""
    found = look((4, 0.5, "", ""))
    assert found == Sharing(crowds=("w1 has 0.5 CPUs for 4 slots: waiting ranks let others run",))


@given(st.sets(st.integers(0, 300), min_size=1))
def test_lists_of_cpus_are_read_as_they_are_written(cpus: set[int]) -> None:
    """A worker with such a list shares with one that has any one CPU of it, and with no other."""
    text = inspect.cpu_list(cpus)
    one = min(cpus)
    other = next(cpu for cpu in range(302) if cpu not in cpus)
    assert look((1, 1, text, "m"), (1, 1, str(one), "m")).shared
    assert not look((1, 1, text, "m"), (1, 1, str(other), "m")).shared


def test_the_kernel_writes_the_same_list() -> None:
    """And the machine is known by what all its containers read."""
    os.sched_setaffinity(0, os.sched_getaffinity(0))  # or it lists CPUs that are not there, too
    text = Path("/proc/self/status").read_text(encoding="utf-8")
    allowed = re.search(r"^Cpus_allowed_list:\s+(\S+)$", text, re.MULTILINE)
    facts = inspect.facts(os.environ)
    assert allowed is not None
    assert facts.cpu_list == allowed.group(1)
    assert len(facts.machine) == 36
