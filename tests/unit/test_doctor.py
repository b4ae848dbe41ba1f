"""What was looked at → findings, with the remedy: ok, warning and will fail of each topic."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import jsonschema  # type: ignore[import-untyped]
import pytest

from mpiboot.errors import ConfigError, ExitCode
from mpiboot.model import checkup
from mpiboot.model.checkup import (
    Asked,
    Checkup,
    First,
    Limits,
    Names,
    Port,
    Reached,
    Trial,
    User,
)
from mpiboot.model.diagnosis import Diagnosis, Finding, Grade
from mpiboot.model.facts import Facts, Network
from mpiboot.model.hosts import Host
from mpiboot.model.memory import Memory
from mpiboot.model.places import File, Room
from mpiboot.model.privileges import Privileges
from mpiboot.model.record import replace
from mpiboot.plan.doctor import reaching, topics
from mpiboot.plan.gather import Reach, Seen
from mpiboot.report import diagnosis, schema

GIB = 1 << 30
OK, WARNING, FAIL = Grade.OK, Grade.WARNING, Grade.FAIL
BAD = Trial(fault="it is broken", remedy="mend it", code=78)
ROOM = Room(path="/tmp", purpose="files", free_bytes=GIB, size_bytes=GIB)
HOSTFILE = File(path="/etc/mpi/hostfile", mode=0o444, owner=0, group=1337, readable=True)
HTTP = Port(number=9650, purpose="probes", flag="--http-port", optional=True)
SSH = Port(number=22, purpose="sshd", flag="--ssh-port")
CAPABILITIES = frozenset({"SETUID", "SETGID", "SYS_CHROOT", "NET_BIND_SERVICE"})
USER = User(uid=0, gid=0, account=Trial(text="root"), home="/root", home_env="/root")
FACTS = Facts(
    cpus=4.0,
    networks=(Network(name="eth0", cidr="10.1.0.7/24"),),
    mpi="Open MPI 4.1.4",
    mpi_path="/usr/bin/orterun",
    daemon="/usr/bin/orted",
    cma=True,
)
WORKER = Checkup(
    role="worker",
    identity=Trial(text="MPIBOOT_ROLE says so"),
    platform=Trial(text="MPI Operator: K_MPI_JOB_ROLE says so"),
    files=[HOSTFILE],
    settings=["ssh_port=2222 (mpi operator: its images listen there)"],
    user=USER,
    privileges=Privileges(uid=0, held=CAPABILITIES, bounding=CAPABILITIES),
    sshd=Trial(text="/usr/sbin/sshd, OpenSSH 9.2"),
    ssh=Trial(text="/usr/bin/ssh, OpenSSH 9.2"),
    keys=Trial(text="ssh-ed25519 from /etc/mpiboot/keys"),
    runtime=Trial(text="/run/mpiboot/worker"),
    rooms=[ROOM],
    names=Names(
        hostname="w1",
        resolver="nameserver 10.0.0.10\nsearch ns.svc.cluster.local\n",
        own=Asked(name="w1", addresses=("10.1.0.7",)),
    ),
    hosts=Trial(),
    ports=[SSH, HTTP],
    mpi=Trial(text="Open MPI 4.1.4: mpirun"),
    facts=FACTS,
    limits=Limits(nofile=(65536, 65536), cgroup=2, pids=4096, pids_used=10),
    shm=Room(path="/dev/shm", purpose="shared memory", free_bytes=GIB, size_bytes=GIB),
    memory=Memory(used_bytes=GIB, oom_kills=0, limit_bytes=4 * GIB),
    first=First(here=True),
)
LAUNCHER = replace(
    WORKER,
    role="launcher",
    hosts=Trial(text="2: a, b"),
    names=replace(
        WORKER.names,
        workers=(
            Asked(name="a", addresses=("10.1.0.8",)),
            Asked(name="b", addresses=("10.1.0.9",)),
        ),
    ),
)


def user(**changes: Any) -> dict[str, Any]:
    return {"user": replace(USER, **changes)}


def facts(**changes: Any) -> dict[str, Any]:
    return {"facts": replace(FACTS, **changes)}


def names(**changes: Any) -> dict[str, Any]:
    return {"names": replace(LAUNCHER.names, **changes)}


def shm(**changes: Any) -> dict[str, Any]:
    return {"shm": replace(WORKER.shm, **changes)}


def limits(**changes: Any) -> dict[str, Any]:
    return {"limits": replace(WORKER.limits, **changes)}


def first(*argv: str, **changes: Any) -> dict[str, Any]:
    return {"first": First(argv=argv, **changes)}


def nobody(**changes: Any) -> dict[str, Any]:
    return {"privileges": Privileges(uid=1000), "ssh_port": 2222, **changes}


def port(one: Port, **changes: Any) -> dict[str, Any]:
    return {"ports": [replace(one, why_not="Address already in use", **changes)]}


# Topic, what is other than in a good container, grade, words of the text, words of the remedy.
Case = tuple[str, dict[str, Any], Grade, str, str]
CASES: list[Case] = [
    ("role", {"identity": BAD}, WARNING, "judged as a", "mend it"),
    ("role", {"identity": Trial(fault="nobody says it")}, WARNING, "nobody", "`mpiboot worker`"),
    ("platform", {"platform": BAD}, FAIL, "broken", "mend it"),
    ("platform", {"platform": Trial()}, OK, "none that mpiboot knows", ""),
    ("files", {"files": []}, OK, "none that", ""),
    ("files", {"files": [HOSTFILE]}, OK, "/etc/mpi/hostfile 0444 0:1337", ""),
    ("files", {"files": [replace(HOSTFILE, mode=0o600, readable=False)]}, WARNING, "cannot be read by uid 0", "fsGroup"),
    ("user", {"user": replace(USER, account=BAD)}, FAIL, "broken", "mend it"),
    ("user", user(home_there=False), WARNING, "/root is not there", "volume"),
    ("user", user(locked=True), WARNING, "locked", "usermod -p '*' root"),
    ("user", user(home_env="/home/jovyan"), OK, "HOME is /home/jovyan", ""),
    ("privileges", nobody(), OK, "none needed", ""),
    ("privileges", {**nobody(), "privileges": Privileges(uid=1, unprivileged_port=0)}, OK, "every port", ""),
    ("privileges", {"privileges": Privileges(uid=0)}, FAIL, "SYS_CHROOT", "--cap-add"),
    ("privileges", nobody(ssh_port=22), FAIL, "port 22", "--ssh-port"),
    ("privileges", nobody(demanded=CAPABILITIES), WARNING, "a copy of it", "setcap -r"),
    ("privileges", nobody(demanded=CAPABILITIES, copy=BAD), FAIL, "broken", "mend it"),
    ("sshd", {"sshd": BAD}, FAIL, "broken", "mend it"),
    ("ssh", {"ssh": BAD}, FAIL, "broken", "mend it"),
    ("ssh", {"ssh": Trial(text="ssh does nothing", remedy="an account")}, WARNING, "nothing", "account"),
    ("keys", {"keys": BAD}, FAIL, "broken", "mend it"),
    ("places", {"runtime": BAD}, FAIL, "broken", "mend it"),
    ("places", {"rooms": [replace(ROOM, why_not="Read-only")]}, WARNING, "Read-only", "tmpfs"),
    ("places", {"rooms": [replace(ROOM, free_bytes=4096)]}, WARNING, "4 KiB free", "make room"),
    ("hostname", names(refused=BAD), FAIL, "broken", "mend it"),
    ("hostname", names(own=Asked(name="w1", why_not="no such name")), OK, "need not", ""),
    ("hostname", names(own=Asked(name="w1", addresses=("127.0.1.1",))), WARNING, "127.0.1.1", "/etc/hosts"),
    ("networks", facts(networks=()), WARNING, "loopback", "connect"),
    ("names", names(resolver=""), OK, "no nameserver", ""),
    ("shared memory", shm(size_bytes=64 << 20, free_bytes=64 << 20), WARNING, "4 ranks may need 16 MiB", "--shm-size"),
    ("shared memory", {**shm(size_bytes=64 << 20, free_bytes=64 << 20), "slots": "32"}, WARNING,
     "64 MiB of 64 MiB is free in /dev/shm, and MPI with 32 ranks may need 128 MiB", "--shm-size 256m"),
    ("shared memory", shm(size_bytes=64 << 20, free_bytes=0), WARNING, "0 bytes of 64 MiB", "emptyDir"),
    ("shared memory", shm(why_not="it is not there"), WARNING, "it is not there", "medium Memory"),
    ("shared memory", {**shm(size_bytes=GIB // 2, free_bytes=GIB // 2), **facts(gpus=8)}, WARNING, "8 GPUs", "--shm-size"),
    ("shared memory", facts(cma=False), WARNING, "process_vm_readv", "SYS_PTRACE"),
    ("CPUs", facts(cpus=0.5), WARNING, "0.5 CPUs", "CPU limit"),
    ("CPUs", {"slots": "8"}, WARNING, "8 slots", "--slots"),
    ("memory", limits(cgroup=0), WARNING, "no memory cgroup", "/sys/fs/cgroup"),
    ("memory", {"memory": Memory(oom_kills=2)}, WARNING, "2 processes were killed", "memory limit"),
    ("memory", {"memory": Memory(used_bytes=GIB, limit_bytes=GIB)}, WARNING, "hardly any", "raise"),
    ("memory", {"memory": Memory(used_bytes=GIB)}, OK, "no limit", ""),
    ("limits", limits(nofile=(256, 512)), WARNING, "256 open files; the agent makes it 512", "nofile=65536"),
    ("limits", limits(nofile=(24, 1024)), OK, "24 open files; the agent makes it 1024", ""),
    ("limits", limits(nofile=(-1, -1)), OK, "unlimited open files; the agent makes it 65536", ""),
    ("limits", limits(nofile=(1 << 30, 1 << 30)), OK, "1073741824 open files; the agent makes it 65536", ""),
    ("limits", {**facts(rdma=True), **limits(memlock_bytes=65536)}, WARNING, "64 KiB", "memlock=-1"),
    ("limits", limits(memlock_bytes=65536), OK, "65536 open files", ""),
    ("limits", limits(pids=100, pids_used=90), WARNING, "90 of 100", "--pids-limit"),
    ("process 1", first("/pause", catches=False), OK, "pause", ""),
    ("process 1", first("/usr/bin/tini", "--", "x", catches=False), OK, "tini", ""),
    ("process 1", first("sleep", "inf", catches=False), WARNING, "sleep inf has no", "entry point"),
    ("process 1", first("nginx"), OK, "nginx", ""),
    ("process 1", first("x", agent="worker", catches=False), OK, "an mpiboot worker", ""),
    ("process 1", first(), OK, "not to be seen", ""),
    ("login", {"login": Trial(text="a login of root works")}, OK, "works", ""),
    ("login", {"login": BAD}, FAIL, "broken", "mend it"),
]  # fmt: skip
WORKERS: list[Case] = [
    ("MPI", facts(mpi_path="", mpi="", daemon=""), FAIL, "no mpirun on its PATH", "openmpi-bin"),
    ("MPI", facts(daemon=""), FAIL, "without its daemon", "openmpi-bin"),
    ("MPI", {**facts(mpi_path=""), "may_be_elsewhere": True}, OK, "by its path", ""),
    ("MPI", facts(mpi="Bad MPI 9"), WARNING, "Bad MPI 9", "install"),
    ("ports", port(SSH, holder="sshd (process 7)"), FAIL, "held by sshd (process 7)", "--ssh-port"),
    ("ports", port(SSH), FAIL, "cannot be seen", "--ssh-port"),
    ("ports", {**port(SSH, holder="sshd (process 7)"), **first(agent="worker")}, OK, "runs here", ""),
    ("ports", {**port(SSH, holder="nginx (process 7)"), **first(agent="worker")}, FAIL, "nginx", "--ssh-port"),
    ("ports", {**port(HTTP, holder="python (process 1)"), **first(agent="worker")}, OK, "runs here", ""),
    ("ports", port(HTTP), WARNING, "9650", "--http-port"),
    ("ports", port(HTTP, optional=False), FAIL, "9650", "--http-port"),
    ("ports", port(HTTP, optional=False, denied=True), FAIL, "9650", "--http-port"),
]  # fmt: skip
LAUNCHERS: list[Case] = [
    ("MPI", {"mpi": BAD}, FAIL, "broken", "mend it"),
    ("workers", {"hosts": BAD}, FAIL, "broken", "mend it"),
    ("names", names(), OK, "2 of 2 names of workers resolve: a (10.1.0.8), b (10.1.0.9)", ""),
    ("names", names(unasked=44), OK, "44 more were not asked for", ""),
    ("names", names(workers=(Asked(name="a", why_not="unknown"),)), WARNING, "1 of 1 name does not", "Service"),
    ("names", names(workers=(Asked(name="a", addresses=("127.0.1.1",)),)), FAIL, "127.0.1.1", "record"),
    ("names", names(workers=(Asked(name="w1", addresses=("127.0.1.1",)),)), OK, "1 of 1 name of a worker resolves", ""),
    ("names", names(workers=(Asked(name="a", addresses=("fd00::1",)),)), WARNING, "IPv6", "IPv4"),
    ("reach", {"reached": []}, WARNING, "nobody was asked", "come up"),
    ("reach", {"reached": [Reached(name="a", grade=OK, text="takes")]}, OK, "a: takes", ""),
    ("reach", {"reached": [Reached(name="a", grade=WARNING, text="x")]}, WARNING, "a: x", "waits"),
    ("reach", {"reached": [Reached(name="a", grade=FAIL, text="x")]}, FAIL, "a: x", "same key"),
]  # fmt: skip


def of(found: Diagnosis, topic: str) -> Iterator[Finding]:
    return (one for name, one in found.findings if name == topic)


@pytest.mark.parametrize("seen", [WORKER, LAUNCHER], ids=["worker", "launcher"])
def test_a_good_container_is_ok(seen: Checkup) -> None:
    """Every topic of the role says something, all of it is ok, and the code is 0."""
    found = topics.examine(seen)
    quiet = {"login", "reach"}  # unless asked for
    wanted = {topic.name for topic in topics.TOPICS if seen.role in topic.roles} - quiet
    assert {topic for topic, _ in found.findings} == wanted
    assert [one for _, one in found.findings if one.grade is not OK] == []
    assert found.code == 0


@pytest.mark.parametrize(
    ("seen", "case"),
    [(WORKER, case) for case in (*CASES, *WORKERS)]
    + [(LAUNCHER, case) for case in (*CASES, *LAUNCHERS) if case[0] not in ("sshd", "privileges")],
)
def test_a_fault_is_graded_and_comes_with_its_remedy(seen: Checkup, case: Case) -> None:
    """One thing is other than it should be: it is named with its remedy, and nothing else fails."""
    topic, changes, grade, text, remedy = case
    found = topics.examine(replace(seen, **changes))
    mine = [one for one in of(found, topic) if text in one.text]
    assert [one.grade for one in mine] == [grade], list(of(found, topic))
    assert remedy in mine[0].remedy
    assert bool(mine[0].remedy) == (grade is not OK)
    assert (mine[0].code != 0) == (grade is FAIL)
    assert [name for name, one in found.findings if one.grade is FAIL and name != topic] == []
    assert (found.code != 0) == (grade is FAIL)


AGENT: dict[str, Any] = {"rsh_agent": "/etc/mpi/kubexec.sh"}


@pytest.mark.parametrize("seen", [WORKER, LAUNCHER], ids=["worker", "launcher"])
def test_with_a_program_in_place_of_ssh_nothing_of_ssh_is_judged(seen: Checkup) -> None:
    """What would fail a login fails nobody; one line says that it was not looked at."""
    broken = {**nobody(ssh_port=22), "sshd": BAD, "ssh": BAD, "keys": BAD}
    assert topics.examine(replace(seen, **broken)).code == 78
    found = topics.examine(replace(seen, **broken, **AGENT))
    assert found.code == 0
    assert not {"sshd", "keys", "privileges"}.intersection(topic for topic, _ in found.findings)
    assert [one.grade for one in of(found, "ssh")] == [OK]
    told = [one.text for _, one in found.findings if AGENT["rsh_agent"] in one.text]
    assert len(told) == 1
    assert "not looked at" in told[0]


def test_an_account_is_for_ssh() -> None:
    """With a program in place of ssh nobody needs one; MPI itself does without."""
    lost: dict[str, Any] = {"user": User(uid=1234567, gid=0, account=BAD), **AGENT}
    assert topics.examine(replace(WORKER, **lost)).code == 0
    assert topics.examine(replace(LAUNCHER, **lost)).code == 0


def test_every_promise_of_the_table_has_a_case() -> None:
    """Where the table of topics says when one warns or fails, a case above shows it, with that code."""
    shown = {(case[0], case[2]) for case in (*CASES, *WORKERS, *LAUNCHERS)}
    assert {(one.name, WARNING) for one in topics.TOPICS if one.warns} <= shown
    told_elsewhere = {topics.SETTINGS}
    fails = {one.name for one in topics.TOPICS if one.fails} - told_elsewhere
    assert {(name, FAIL) for name in fails} <= shown
    assert all(bool(one.fails) == (one.code is not None) for one in topics.TOPICS)


def test_a_port_that_is_not_allowed_is_told_once() -> None:
    """With sshd's port the privileges say it, with its remedy."""
    found = topics.examine(replace(WORKER, **nobody(ssh_port=22), **port(SSH, denied=True)))
    assert list(of(found, "ports")) == []
    assert [one.grade for one in of(found, "privileges")] == [FAIL]


@pytest.mark.parametrize("lacks", ["keys", "ssh", "user", "hosts"])
def test_who_asks_for_reach_hears_why_nobody_was_asked(lacks: str) -> None:
    """Silence would look like success: what fails above comes first."""
    lost = replace(USER, account=BAD) if lacks == "user" else BAD
    found = topics.examine(replace(LAUNCHER, reached=[], **{lacks: lost}))  # type: ignore[arg-type]
    (told,) = of(found, "reach")
    assert told.grade is WARNING
    assert "will fail above" in told.remedy


def test_the_exit_code_is_what_no_retry_heals() -> None:
    """Of several codes the lowest counts: 78 before 240 and 242."""
    late = Trial(fault="no login", remedy="", code=int(ExitCode.LAUNCH_FAILED))
    assert topics.examine(replace(WORKER, login=late)).code == 242
    assert topics.examine(replace(WORKER, login=late, keys=BAD)).code == 78


def test_a_failure_keeps_the_roles_own_words() -> None:
    """Message, hint and code of the error that the role would end with."""
    trial = checkup.failed(ConfigError("no sshd", hint="install it"))
    assert (trial.fault, trial.remedy, trial.code) == ("no sshd", "install it", 78)


def test_settings_that_cannot_be_read_are_all_told() -> None:
    """Each problem is a finding of its own; the code is 78."""
    found = topics.of_problems("", ["first", "second"])
    assert [one.text for one in of(found, "settings")] == ["first", "second"]
    assert found.code == 78


@pytest.mark.parametrize(
    ("said", "grade", "meaning"),
    [
        (
            "debug1: Server accepts key: job.pub ED25519\nPermission denied (publickey).",
            OK,
            "takes",
        ),
        ("x@y: Permission denied (publickey).", FAIL, "key refused"),
        (
            "debug1: Server host key: ssh-ed25519 SHA256:abc\nHost key verification failed.\r\n",
            FAIL,
            "wrong host key: it shows ssh-ed25519 SHA256:abc",
        ),
        ("Unable to negotiate: no matching host key type found.", FAIL, "wrong host key"),
        ("ssh: connect to host h port 22: Connection refused", WARNING, "connection refused"),
        ("debug1: x\nssh: connect to host h: Connection timed out\r\n\n", WARNING, "timed out"),
        ("", WARNING, "ssh says nothing"),
    ],
)
def test_what_ssh_says_of_a_worker(said: str, grade: Grade, meaning: str) -> None:
    """As OpenSSH 9.2 and 10 say it; a key that is accepted is not signed with, so the login fails."""
    got, text = reaching.told(said)
    assert got is grade
    assert meaning in text


@pytest.mark.parametrize(
    ("reach", "detail", "grade", "text"),
    [
        (Reach.BY_AGENT, "", OK, "a command can be run there"),
        (Reach.AGENT_FAILED, "pods a not found", WARNING, "rsh agent failed: pods a not found"),
    ],
)
def test_what_a_program_in_place_of_ssh_says_of_a_worker(
    reach: Reach, detail: str, grade: Grade, text: str
) -> None:
    """A pod in which nothing can be run yet is waited for."""
    seen = Seen(host=Host(name="a"), reach=reach, detail=detail)
    assert reaching.by_agent(seen) == (grade, text)


def test_the_text_has_a_line_for_each_finding_and_the_sum() -> None:
    """Grade, topic, text; the remedy stands below, and a table keeps its lines."""
    seen = replace(WORKER, keys=replace(BAD, fault="two\nlines"), **facts(cpus=0.5))
    lines = diagnosis.text(topics.examine(seen)).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("will fail  keys"))
    assert [line.strip() for line in lines[at : at + 3]][1:] == ["lines", "-> mend it"]
    assert lines[-1] == "worker: 1 will fail, 1 warning, 20 ok; exit 78"


@pytest.mark.parametrize(
    "found",
    [topics.examine(replace(LAUNCHER, mpi=BAD, slots="8")), topics.of_problems("", ["bad"])],
)
def test_json_keeps_to_its_schema(found: Diagnosis) -> None:
    """What `--json` prints is what `mpiboot schema doctor` promises."""
    judge = json.loads(schema.text("doctor"))
    jsonschema.Draft202012Validator.check_schema(judge)
    jsonschema.validate(json.loads(diagnosis.as_json(found)), judge)
