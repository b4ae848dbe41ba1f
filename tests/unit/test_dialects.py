"""Every dialect keeps the same contract, and its plans are the golden texts beside this file.

To renew the texts after a change that is meant, run with GOLDEN=write and read the diff.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mpiboot import mpi
from mpiboot.errors import ConfigError
from mpiboot.model.facts import Facts, Network
from mpiboot.model.hosts import Host
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.mpi import DIALECTS, openmpi4, openmpi5
from mpiboot.mpi.protocol import Dialect, Export, Node, Request
from mpiboot.plan import launch, layout, ranks
from mpiboot.plan.clocks import Clock
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.ground import Ground
from mpiboot.plan.launchplan import LaunchPlan
from tests.helpers.operator import IMPLEMENTATIONS, Job

GOLDEN = Path(__file__).with_name("golden")
VERSIONS = {"Open MPI 4": "4.1.4", "Open MPI 5": "5.0.7", "MPICH": "4.2.1", "Intel MPI": "2021.18"}
HYDRAS = ("MPICH", "Intel MPI")
# The line that users of Horovod know, in the words of mpiboot.
SEEDS = Settings(
    export=("NCCL_DEBUG=INFO", "LD_LIBRARY_PATH", "PATH"), bind_to="none", map_by="slot"
)
FACTS = Facts(
    cpus=2.0, path="/usr/bin:/bin", ld_library_path="/opt/lib", cma=True,
    python="/opt/mpiboot/bin/python3", wrapper="/opt/mpiboot/rank.py",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One situation that every dialect must render."""

    hosts: Sequence[Host]
    settings: Settings = SEEDS
    hostname: str = "launcher"
    port: int = 22
    environ: Mapping[str, str] = field(default_factory=dict)
    facts: Facts | None = FACTS
    networks: Sequence[str] = ("eth0 {address}/16",)

    def facts_of(self, dialect: Dialect, number: int, address: str) -> Facts | None:
        """Tell what a host says of itself."""
        if self.facts is None:
            return None
        told = [text.format(address=address, number=number) for text in self.networks]
        pairs = [f"{text} 0".split()[:3] for text in told]
        networks = tuple(
            Network(name=name, cidr=cidr, index=int(index)) for name, cidr, index in pairs
        )
        bin_dir = "/opt/mpi/bin"
        return replace(
            self.facts, networks=networks, mpi=mpi_of(dialect), rdma=False,
            mpi_path=f"{bin_dir}/mpirun", daemon=f"{bin_dir}/{dialect.DAEMONS[0]}",
        )  # fmt: skip


def mpi_of(dialect: Dialect) -> str:
    """Return name and version of an MPI as workers tell theirs."""
    return f"{dialect.NAME.rstrip(' 45')} {VERSIONS[dialect.NAME]}"


def two(slots: int = 2, **host: Any) -> list[Host]:
    return [Host(name=f"w{n}", slots=slots, **host) for n in (1, 2)]


OPERATORS = {
    name: value
    for implementation in IMPLEMENTATIONS
    for name, value in Job(implementation=implementation).launcher_env().items()
}
CASES = {
    "two-hosts": Case(two()),
    "two-hosts-plain-profile": Case(two(), Settings(profile="plain")),
    "two-plain-sshds": Case(two(), Settings(tag_output=True, wdir="/data"), facts=None),
    "65-hosts": Case([Host(name=f"w{n}", slots=1) for n in range(1, 66)]),
    "launcher-as-worker": Case([Host(name="launcher", slots=2), Host(name="w2", slots=2)]),
    "extra-flags": Case(
        two(),
        Settings(
            mpirun_arg=("--verbose",),
            export=("A=1 2", "TOKEN"),
            bind_to="core",
            wdir="/data",
            tag_output=True,
            np=3,
        ),
        environ={"TOKEN": "s3cret"},
    ),
    "mapped-by-node": Case(two(), Settings(map_by="node")),
    "oversubscribed": Case(two(), Settings(oversubscribe=True, np=8)),
    "other-port-and-user": Case(two(port=2222, user="mpi"), port=2222),
    "full-names": Case([Host(name=f"job-{n}.pi.default.svc", slots=1) for n in (1, 2)]),
    "one-first-label": Case([Host(name=f"job.{n}.pi.default.svc", slots=1) for n in (1, 2)]),
    "late-interface": Case(
        two(), networks=("eth0 {address}/16 40001", "cni0 10.99.0.{number}/16 3")
    ),
    "two-networks": Case(two(), networks=("eth0 {address}/16", "cni0 10.99.0.{number}/16")),
    "networks-by-other-names": Case(
        two(), networks=("net{number} {address}/16", "cni0 10.99.0.{number}/16")
    ),
    "mpi-operator": Case(
        [Host(name=f"pi-worker-{n}.pi.ns.svc", slots=2) for n in (0, 1)],
        Settings(hostfile="/etc/mpi/hostfile"),
        environ=OPERATORS,
    ),
    "mpi-operator-launcher-as-worker": Case(
        [
            Host(name="pi-launcher.pi.ns.svc", slots=1, here=True),
            Host(name="pi-worker-0.pi.ns.svc", slots=1),
        ],
        Settings(hostfile="/etc/mpi/hostfile"),
        hostname="pi-launcher",
        environ=OPERATORS,
    ),
    "rsh-agent": Case(
        [Host(name=f"pi-worker-{n}", slots=1) for n in (0, 1)],
        Settings(rsh_agent="/etc/mpi/kubexec.sh", hostfile="/etc/mpi/hostfile"),
        environ={
            "OMPI_MCA_plm_rsh_agent": "/etc/mpi/kubexec.sh",
            "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        },
        facts=None,
    ),
    "ipv6": Case([Host(name=f"fd00::{n}", slots=1) for n in (1, 2)]),
}


def plan_of(dialect: Dialect, case: Case) -> LaunchPlan:
    """Plan a case as the launcher does."""
    addresses = [
        host.name if host.is_address else f"10.0.{number // 250}.{number % 250}"
        for number, host in enumerate(case.hosts, start=1)
    ]
    seen = [
        Seen(
            host=host, reach=Reach.READY, address=address,
            here=host.here or host.name == case.hostname,
            port=host.port or case.port, facts=case.facts_of(dialect, number, address),
        )
        for number, (host, address) in enumerate(zip(case.hosts, addresses, strict=True), start=1)
    ]  # fmt: skip
    own = Case([]).facts_of(dialect, 100, "10.0.0.100")
    assert own is not None
    ground = Ground(
        mpirun=f"/opt/mpi/bin/{dialect.PROGRAM}",
        version=VERSIONS[dialect.NAME],
        mpi=mpi_of(dialect),
        hostname=case.hostname,
        user="root",
        as_root=True,
        directory="/run/mpiboot/launcher",
        identity="/run/mpiboot/launcher/user_key",
        host_keys=("ssh-ed25519 AAAA",),
        known_hosts="",
        port=case.port,
        own_address="10.0.0.100",
        facts=own,
        link="/run/mpiboot/launcher/agent.sock",
        standin=("python3", "standin.py"),
        no_stdin=True,
        nonce="0123456789abcdef",
        site_params={"btl": "^ofi"},
        environ={"PATH": "/usr/bin:/bin", "LD_LIBRARY_PATH": "/opt/lib", **case.environ},
    )
    arranged = layout.arrange(
        seen, own_hostname=case.hostname, slots=case.settings.slots, np=case.settings.np,
        oversubscribe=case.settings.oversubscribe,
    )  # fmt: skip
    return launch.prepare(
        case.settings, ["python3", "train.py", "--lr", "0.1", "a b", "$HOME"], dialect, ground,
        layout=arranged, facts=[one.facts for one in seen],
    )  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_golden_plans(dialect: Dialect, name: str) -> None:
    """Command line, files and environment of every MPI in every situation, word by word."""
    path = GOLDEN / dialect.NAME.replace(" ", "").lower() / f"{name}.txt"
    text = plan_of(dialect, CASES[name]).text()
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_contract_of_every_plan(dialect: Dialect, name: str) -> None:
    """What must hold on every MPI: the job last and untouched, workers by our way, no value in argv."""
    case = CASES[name]
    plan = plan_of(dialect, case)
    job = ["python3", "train.py", "--lr", "0.1", "a b", "$HOME"]
    assert plan.argv[0].startswith("/opt/mpi/bin/")
    assert plan.argv[-len(job) :] == job
    assert (plan.wrapper is None) == (case.facts is None)
    if plan.wrapper is not None:
        assert list(plan.wrapper.argv) == plan.argv[-len(job) - 5 : -len(job) - 1]
    told = " ".join([*plan.argv, *(one.value for one in plan.variables)])
    assert (case.settings.rsh_agent or "-F /run/mpiboot/launcher/ssh_config") in told
    assert "/run/mpiboot/launcher/hostfile" in plan.argv
    assert "s3cret" not in " ".join(plan.argv)
    assert "s3cret" not in plan.text()
    hostfile = next(file for file in plan.files if file.path.endswith("hostfile"))
    lines = hostfile.text.splitlines()
    assert len(lines) == len(case.hosts)
    assert all(":" not in line.split()[0].partition(":")[2] for line in lines)
    wanted = case.settings.np or sum(host.slots or 1 for host in case.hosts)
    assert plan.argv[plan.argv.index("-np") + 1] == str(wanted)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_a_version_is_recognised_by_one_dialect_alone(dialect: Dialect) -> None:
    """What each MPI says to --version, as seen."""
    texts = {
        "Open MPI 4": ("mpirun (Open MPI) 4.1.4\n\nReport bugs to", "4.1.4"),
        "Open MPI 5": ("mpirun (Open MPI) 5.0.11\n\nReport bugs to", "5.0.11"),
        "MPICH": (
            "HYDRA build details:\n    Version:                                 4.0.2\n", "4.0.2",
        ),
        "Intel MPI": (
            "Intel(R) MPI Library for Linux* OS, Version 2021.18.1 Build 20260317 (id: 6d2)",
            "2021.18.1",
        ),
    }  # fmt: skip
    text, version = texts[dialect.NAME]
    assert dialect.recognise(text) == version
    assert [one.NAME for one in DIALECTS if one.recognise(text)] == [dialect.NAME]
    assert mpi.detect(text, "mpirun") == (dialect, version)


def request(**changes: Any) -> Request:
    base: dict[str, Any] = {
        "mpirun": "/opt/mpi/bin/mpirun", "hostfile": "/r/h", "ssh_config": "/r/s", "np": 2,
        "nodes": 2, "as_root": False, "environ": {}, "site_params": {}, "command": ("true",),
    }  # fmt: skip
    return Request(**{**base, **changes})


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_secrets_and_values_stay_out_of_process_lists(dialect: Dialect) -> None:
    """A value that is handed on by name is nowhere in the command line."""
    exports = (Export(name="TOKEN", value=None, reason="yours"),)
    called = dialect.invocation(request(exports=exports, environ={"TOKEN": "s3cret"}))
    words = [word for group in called.words for word in group.words]
    assert any("TOKEN" in word for word in words)
    assert not any("s3cret" in word for word in words)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_flags_of_the_users_come_last_and_once(dialect: Dialect) -> None:
    """A hostfile, a count or a binding that the user gives to mpirun replaces ours."""
    words = [
        word
        for group in dialect.invocation(
            request(mpirun_args=("-np", "7", "-hostfile", "/mine"), bind_to="none", map_by="slot")
        ).words
        for word in group.words
    ]
    assert words.count("-np") == 1
    assert words[words.index("-np") + 1] == "7"
    assert "/r/h" not in words
    assert "/mine" in words


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({}, [":raw"]),
        ({"tag_output": True, "timestamp_output": True}, ["tag,timestamp:raw"]),
        ({"mpirun_args": ("--tag-output",)}, [":raw"]),
        ({"mpirun_args": ("--output", "dir=/d")}, ["dir=/d"]),
    ],
)
def test_open_mpi_5_lets_half_lines_through(fields: dict[str, Any], expected: list[str]) -> None:
    """Where it mixes them, unless the user has a form of output."""
    called = openmpi5.invocation(request(raw_output=":raw", **fields))
    words = [word for group in called.words for word in group.words]
    assert [words[at + 1] for at, word in enumerate(words) if word == "--output"] == expected


def test_frames_need_no_raw_output() -> None:
    """They are whole lines, and stay so only where mpirun puts the halves of one together."""
    hosts = CASES["two-hosts"].hosts
    assert "--output :raw" in plan_of(openmpi5, Case(hosts)).text()
    tagged = Case(hosts, replace(SEEDS, tag_output=True))
    assert "--output" not in plan_of(openmpi5, tagged).text()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_half_lines_are_mixed_by_open_mpi_5_before_5_0_11(dialect: Dialect) -> None:
    """As seen on 5.0.7, 5.0.8 and 5.0.10, and no longer on 5.0.11."""
    versions = ("5.0.0rc12", "5.0.7", "5.0.10", "5.0.11", "5.1.0a1", "6.0.0", "4.1.4", "unknown")
    mixing = [version for version in versions if dialect.raw_output(version)]
    older = ["5.0.0rc12", "5.0.7", "5.0.10", "4.1.4"]
    assert mixing == (older if dialect is openmpi5 else [])


@pytest.mark.parametrize("why", ["yours", "more ranks than CPUs"])
@pytest.mark.parametrize(
    "given",
    [
        {"environ": {"OMPI_MCA_hwloc_base_binding_policy": "core"}},
        {"environ": {"PRTE_MCA_hwloc_default_binding_policy": "core"}},
        {"mca": ("hwloc_base_binding_policy=core",)},
    ],
)
def test_a_policy_of_binding_is_heeded(given: dict[str, Any], why: str) -> None:
    """What the user set in Open MPI's own way stays, unless --bind-to says otherwise."""
    called = openmpi4.invocation(request(bind_to="none", why_bound=why, **given))
    words = [word for group in called.words for word in group.words]
    assert ("--bind-to" in words) == (why == "yours")


@pytest.mark.parametrize("name", HYDRAS)
def test_what_is_not_on_hydra_is_refused_by_name(name: str) -> None:
    """An MCA parameter or a mapping that hydra cannot do is no silent nothing."""
    (dialect,) = [one for one in DIALECTS if name == one.NAME]
    for settings, told in (
        (Settings(mca=("btl=tcp,self",)), f"--mca btl tcp,self is not on {name}"),
        (Settings(map_by="numa"), f"--map-by numa is not on {name}"),
    ):
        with pytest.raises(ConfigError, match=told):
            plan_of(dialect, Case(two(), settings))
    uneven = [Host(name="w1", slots=1), Host(name="w2", slots=2)]
    with pytest.raises(ConfigError, match="where slots differ"):
        plan_of(dialect, Case(uneven, Settings(map_by="node")))


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_ranks_are_placed_by_node_where_that_is_wanted(dialect: Dialect) -> None:
    """One on each host in turn: by a flag, or by what the hostfile says of slots."""
    nodes = [Node(name="a", slots=4), Node(name="b", slots=4)]
    by_node = dialect.hostfile(nodes, "node")
    words = [w for g in dialect.invocation(request(map_by="node")).words for w in g.words]
    assert ("node" in words) != (by_node == "a:1\nb:1\n")


OUTPUTS = {
    "Open MPI 4": (
        "mpirun noticed that process rank 2 with PID 61 on node w2 exited on signal 9 (Killed).",
        (2, "w2", 9), 137, 137,
    ),
    "Open MPI 5": (
        "prterun noticed that process rank 2 with PID 9402 on node w2 exited on\nsignal 9 (Killed).",
        (2, "w2", 9), 137, 137,
    ),
    "MPICH": (
        ("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n=   PID 47 RUNNING AT w2\n"
        "=   EXIT CODE: 9\n=   CLEANING UP REMAINING PROCESSES\n"
        "YOUR APPLICATION TERMINATED WITH THE EXIT STRING: Killed (signal 9)\n"),
        (None, "w2", 9), 9, 137,
    ),
    "Intel MPI": (
        ("=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES\n"
        "=   RANK 2 PID 48 RUNNING AT w2\n=   KILLED BY SIGNAL: 9 (Killed)\n"),
        (2, "w2", 9), 255, 137,
    ),
}  # fmt: skip


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
def test_a_killed_rank_is_named_and_its_signal_told(dialect: Dialect) -> None:
    """Each MPI's own words for it, as seen; the status becomes 128 + n where it was not."""
    text, (rank, host, signal), raw, code = OUTPUTS[dialect.NAME]
    failure = dialect.failures(text)[0]
    assert (failure.rank, failure.host, failure.signal) == (rank, host, signal)
    assert dialect.exit_code(raw, text) == code
    assert not dialect.start_failed(text)


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.NAME.replace(" ", "").lower())
@pytest.mark.parametrize(
    "text", ["", "all is well\n", "Exit code: 3\n", "\0\xff PID", "= PID 1 RUN"]
)
def test_words_of_a_program_are_not_taken_for_failures(dialect: Dialect, text: str) -> None:
    """What a program prints names no rank, no daemon and no missing program."""
    assert dialect.failures(text) == []
    assert not dialect.start_failed(text)
    assert dialect.command_fault(text, exists=True) is None
    assert dialect.exit_code(3, text) == 3


def test_a_rank_that_lost_its_partner_is_not_the_cause() -> None:
    """Open MPI 5 aborts such a rank, perhaps before the partner's death is known."""
    book = ranks.Book(2)
    book.hear("w1", {"rank": 0, "event": "ended", "code": 14, "time_ms": 5_000}, 0.0, 5.1, Clock())
    book.hear("w2", {"rank": 1, "event": "ended", "signal": 9, "time_ms": 5_010}, 0.0, 5.1, Clock())
    said = "[w1:00000] *** An error occurred in Socket closed\n"
    code = openmpi5.survivor_code(said)
    assert code == 14
    assert [end.rank for end in ranks.first_causes(book.ranks(), code).failures] == [1, 0]
    assert openmpi5.survivor_code("all is well\n") is None
