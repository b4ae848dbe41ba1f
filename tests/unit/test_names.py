"""Names are asked for in their likeliest absolute form, and not again and again in vain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model import zone
from mpiboot.model.zone import Zone
from mpiboot.plan import names
from mpiboot.plan.names import AGAIN_S, Look

POD = "search ns.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\noptions ndots:5\n"
# What an operator's worker has: the job's own Service behind the usual three.
WORKER = "nameserver 10.96.0.10\nsearch ns.svc.cluster.local svc.cluster.local cluster.local job.ns.svc.cluster.local\n"


def zone_of(text: str) -> Zone:
    found = zone.read(text)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("name", "likeliest"),
    [
        ("job", "job.ns.svc.cluster.local."),
        ("w-0.job", "w-0.job.ns.svc.cluster.local."),
        ("w-0.job.other", "w-0.job.other.svc.cluster.local."),
        ("w-0.job.ns.svc", "w-0.job.ns.svc.cluster.local."),
        ("mpi-worker.1.job.ns.svc", "mpi-worker.1.job.ns.svc.cluster.local."),
        ("w-0.job.ns.svc.cluster.local", "w-0.job.ns.svc.cluster.local."),
        ("gpu-1.rack.dc.example.com", "gpu-1.rack.dc.example.com."),
        ("w-0.job.", "w-0.job."),
    ],
)
def test_the_likeliest_form_comes_first(name: str, likeliest: str) -> None:
    """Each form that operators, controllers and people write becomes the pod's full name."""
    assert names.forms(name, zone_of(POD))[0] == likeliest


@given(name=st.from_regex(r"[a-z0-9-]{1,9}(\.[a-z0-9-]{1,9}){0,5}", fullmatch=True))
def test_no_form_is_lost(name: str) -> None:
    """What the resolver would find is among the forms, each of them once and absolute."""
    there = zone_of(WORKER)
    forms = names.forms(name, there)
    assert len(set(forms)) == len(forms)
    assert all(form.endswith(".") and not form.endswith("..") for form in forms)
    full = name.endswith((".svc", ".cluster.local"))
    assert full or {f"{name}.{entry}." for entry in there.search} | {f"{name}."} == set(forms)


def test_the_service_of_a_pod() -> None:
    """A pod's parent is its headless Service; a Service has none, and outside the cluster nothing."""
    there = zone_of(POD)
    assert names.service("w-0.job.ns.svc.cluster.local.", there) == "job.ns.svc.cluster.local."
    assert names.service("job.ns.svc.cluster.local.", there) is None
    assert names.service("gpu-1.example.com.", there) is None
    assert names.shape("w-0.job.ns.svc") == names.shape("W-1.job.ns.svc.") == "job.ns.svc"


def test_a_missing_name_is_asked_for_once_a_second() -> None:
    """Without a Service that answers; with thousands of names more seldom."""
    last = Look(at_s=10.0, news=0)
    assert names.due_s(last, news=0, watched=False, missing=64) == 10.0 + AGAIN_S
    assert names.due_s(last, news=0, watched=False, missing=2000) == 20.0
    late = Look(at_s=10.0, news=0, spread=1.2)
    assert names.due_s(late, news=0, watched=False, missing=1) == pytest.approx(11.2)


def test_a_service_that_answers_saves_questions() -> None:
    """While its answer does not grow nobody new is there; when it has, all are due, but not sooner."""
    last = Look(at_s=10.0, news=3)
    assert names.due_s(last, news=3, watched=True, missing=64) == 15.0
    assert names.due_s(last, news=4, watched=True, missing=64) == 10.0 + AGAIN_S
    assert names.due_s(last, news=4, watched=True, missing=10_000) == 20.0


def test_the_pause_between_looks_at_a_service() -> None:
    """Quick at first, slower in time and with size; an empty answer is a negative one."""
    assert names.watch_pause_s(0, 3) == 0.25
    assert names.watch_pause_s(10, 3) == 0.5
    assert names.watch_pause_s(0, 1000) == 1.0
    assert names.watch_pause_s(600, 3) == 2.0
    assert names.watch_pause_s(0, 0) == AGAIN_S


def test_all_forms_are_tried_seldom() -> None:
    """By one name of a shape at first, by each that stays missing every eighth time."""
    assert names.scouts(0, scouted=False)
    assert not names.scouts(0, scouted=True)
    assert [looks for looks in range(1, 20) if names.scouts(looks, scouted=True)] == [8, 16]
