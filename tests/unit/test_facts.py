"""What a worker says of itself comes from another machine: checked and bounded."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.link import messages
from mpiboot.model import facts as model_facts
from mpiboot.model.facts import Facts, Network

WHOLE = Facts(
    hostname="w1",
    addresses=("10.1.0.7", "fd00::7"),
    networks=(
        Network(name="eth0", cidr="10.1.0.7/24", index=40001),
        Network(name="net-1.5@x", cidr="fd00::7/64"),
    ),
    cpus=1.5,
    cpu_list="0-3,8",
    machine="3f7e1c1a-0000-4000-8000-5a5a5a5a5a5a",
    gpus=2,
    memory_bytes=1 << 30,
    shm_bytes=1 << 26,
    shm_used_bytes=1 << 20,
    pids=4096,
    pids_used=7,
    nofile=-1,
    memlock_bytes=65536,
    mpi="Open MPI 4.1.4",
    mpi_path="/usr/bin/orterun",
    daemon="/usr/bin/orted",
    path="/usr/bin:/bin",
    ld_library_path="/usr/lib",
    version="0.1.0",
    cma=False,
    rdma=True,
    python="/opt/mpiboot/bin/python",
    wrapper="/opt/mpiboot/lib/mpiboot/link/rank.py",
    link="/run/mpiboot/worker/agent.sock",
)

texts = st.text(max_size=50)
junk = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
)


def test_facts_arrive_as_they_were_sent() -> None:
    """Nothing is lost on the way, and no field has been forgotten by the reader."""
    line = messages.facts_message(WHOLE, 1).encode()
    message = messages.decode(line)
    assert message is not None
    assert messages.read_facts(message) == WHOLE
    assert Facts() not in (WHOLE, model_facts.from_json(WHOLE.to_json()))
    assert all(getattr(WHOLE, name) != getattr(Facts(), name) for name in WHOLE.to_json())


@given(st.dictionaries(st.sampled_from(sorted(WHOLE.to_json())) | texts, junk))
def test_whatever_arrives_is_read(data: dict[str, object]) -> None:
    """Any JSON becomes facts which can be sent again, within what a line may hold."""
    facts = model_facts.from_json(data)
    assert model_facts.from_json(json.loads(json.dumps(facts.to_json()))) == facts


@pytest.mark.parametrize(
    "network",
    [
        {"name": "eth0", "cidr": "10.1.0.7"},
        {"name": "eth0", "cidr": "10.1.0.7/33"},
        {"name": "eth0", "cidr": "10.1.0.7/255.255.255.0"},
        {"name": "eth0", "cidr": "fd00::1%eth0/64"},
        {"name": "eth0", "cidr": "10.1.0.7/24,0.0.0.0/0"},
        {"name": "eth0,eth1", "cidr": "10.1.0.7/24"},
        {"name": "=eth0", "cidr": "10.1.0.7/24"},
        {"name": "eth0\n", "cidr": "10.1.0.7/24"},
        {"name": "", "cidr": "10.1.0.7/24"},
        {"name": "sixteen-letters-", "cidr": "10.1.0.7/24"},
        {"name": "eth0"},
        {"name": 1, "cidr": "10.1.0.7/24"},
        ["eth0", "10.1.0.7/24"],
        "eth0",
    ],
)
def test_a_network_that_could_not_stand_on_a_command_line_is_left_out(network: object) -> None:
    """Names and addresses go into lists with commas; the good ones beside it stay."""
    data = {"networks": [network, {"name": "eth1", "cidr": "10.2.0.7/16"}]}
    expected = (Network(name="eth1", cidr="10.2.0.7/16"),)
    assert model_facts.from_json(data).networks == expected


def test_lists_are_bounded() -> None:
    """A thousand networks become 64."""
    many = [{"name": "eth0", "cidr": f"10.1.{n >> 8}.{n & 255}/32"} for n in range(1000)]
    assert len(model_facts.from_json({"networks": many}).networks) == 64


@pytest.mark.parametrize("path", ["/x" * 600, "/a\nb", "/\udcff", 7, None])
def test_a_path_is_whole_or_not_there(path: object) -> None:
    """One that was cut or cleaned would lead elsewhere."""
    facts = model_facts.from_json({"daemon": path, "python": path, "link": path})
    assert (facts.daemon, facts.python, facts.link) == ("", "", "")


@pytest.mark.parametrize("told", [0, 1, "true", "false", None, []])
def test_only_a_truth_is_a_truth(told: object) -> None:
    """Whether ranks may read each other's memory is unknown, unless told in so many words."""
    assert model_facts.from_json({"cma": told}).cma is None


@pytest.mark.parametrize(
    "path", ["--prefix", "-np", "python", "orted --x", "/a\nb", "/" + "x" * 2000]
)
@pytest.mark.parametrize("field", ["python", "wrapper", "daemon", "mpi_path", "link"])
def test_a_path_can_be_no_option(field: str, path: str) -> None:
    """Some paths become words of mpirun's command line: only an absolute one is taken."""
    assert getattr(model_facts.from_json({field: path}), field) == ""


def test_a_worker_cannot_claim_absurd_slots() -> None:
    """More CPUs than any kernel knows are as many as it knows."""
    assert model_facts.from_json({"cpus": 1e6}).auto_slots == 8192
    assert model_facts.from_json({"cpus": float("nan")}).auto_slots == 1
