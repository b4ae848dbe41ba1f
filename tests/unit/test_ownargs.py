"""The user's own words for mpirun, in the tongue of the mpirun that is here."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.record import replace
from mpiboot.plan import ownargs, ownjob, owntools, standins
from mpiboot.plan.ownjob import Job

VERSIONS = {"Open MPI 4": "4.1.4", "Open MPI 5": "5.0.11", "MPICH": "5.0.2", "Intel MPI": "2021.18"}
HOROVOD = (
    "-np 2 -bind-to none -map-by slot -x NCCL_DEBUG=INFO -x PATH -mca pml ob1 -mca btl ^openib"
    " python train.py"
)


def job(dialect: str, **fields: object) -> Job:
    base = Job(
        dialect=dialect,
        version=VERSIONS[dialect],
        hostfile="/r/hostfile",
        ssh_config="/r/ssh_config",
        np=2,
        hosts=(("w1", 1), ("w2", 1)),
    )
    return replace(base, **fields)  # type: ignore[arg-type]


def translated(dialect: str, text: str, **fields: object) -> str:
    return shlex.join(ownargs.translate(shlex.split(text), job(dialect, **fields)).args)


OPENMPI5 = {
    "-bind-to none x": "--bind-to none x",
    "-map-by slot -rank-by slot x": "--map-by slot --rank-by slot x",
    "--bind-to=none -map-by=slot x": "--bind-to none --map-by slot x",
    HOROVOD: HOROVOD.replace("-bind-to", "--bind-to").replace("-map-by", "--map-by"),
    "-np 1 --hostfile h -v x": "-np 1 --hostfile h --verbose x",
    "-q --quiet -novm x": "x",
    "--bind-to-none --bind-to-socket x": "--bind-to none --bind-to package x",
    "-rf ranks x": "--map-by rankfile:file=ranks x",
    "--mca orte_default_hostfile h x": "--prtemca prte_default_hostfile h x",
    "--mca plm_rsh_args '-p 22' x": "--mca plm_rsh_args '-F /r/ssh_config -p 22' x",
    "--mca plm_rsh_args '-F mine' x": "--mca plm_rsh_args '-F mine' x",
    "-np 1 -bind-to none a -bind-to b : -np 1 -bind-to none c -v": (
        "-np 1 --bind-to none a -bind-to b : -np 1 --bind-to none c -v"
    ),
    "-np 2 -tag-output -H w1:1 --wdir /w x": "-np 2 -tag-output -H w1:1 --wdir /w x",
    "-np 2 -- -bind-to none": "-np 2 -- -bind-to none",
    "-np 2 --never-heard-of -bind-to none x": "-np 2 --never-heard-of -bind-to none x",
    "-np 2 python train.py -bind-to none -q": "-np 2 python train.py -bind-to none -q",
    "--version": "--version",
    "-np": "-np",
    "": "",
}
OPENMPI4 = {
    HOROVOD: HOROVOD,
    "-v -q -bind-to none x": "-v -q -bind-to none x",
    "--mca plm_rsh_args '-p 22' x": "--mca plm_rsh_args '-F /r/ssh_config -p 22' x",
}
HYDRA = {
    "--allow-run-as-root -np 2 x": "-np 2 x",
    "-np 2 -x A -x B=1 x": "-np 2 -genv B 1 x",
    "--mca pml ob1 -mca btl ^openib -np 2 x": "-np 2 x",
    "-np 2 -- x -- y": "-np 2 x -- y",
    "-np 1 -x A=1 a : -np 1 --mca b c -- d": "-np 1 -genv A 1 a : -np 1 d",
    "-np 2 -genv A 1 -genv B=2 -x C x": "-np 2 -genv A 1 -genv B=2 x",
    "--tag-output --oversubscribe -wd /w -npernode 1 x": "-prepend-rank -wdir /w -ppn 1 x",
    "-np 2 x --allow-run-as-root -x A": "-np 2 x --allow-run-as-root -x A",
}


@pytest.mark.parametrize("text", OPENMPI5)
def test_open_mpi_5(text: str) -> None:
    """What 5.0.11 rejects or misreads is put into other words; what it takes is left alone."""
    assert shlex.split(translated("Open MPI 5", text)) == shlex.split(OPENMPI5[text])


@pytest.mark.parametrize("text", OPENMPI4)
def test_open_mpi_4(text: str) -> None:
    """4 takes everything; only ssh's own words must not lose our configuration."""
    assert shlex.split(translated("Open MPI 4", text)) == shlex.split(OPENMPI4[text])


@pytest.mark.parametrize("text", HYDRA)
@pytest.mark.parametrize("dialect", ["MPICH", "Intel MPI"])
def test_hydra(dialect: str, text: str) -> None:
    """Words that only Open MPI has are replaced, or left out."""
    machine_file = {"Intel MPI": "-machinefile /r/hostfile "}
    lead = "" if "-npernode" in text else machine_file.get(dialect, "")
    assert translated(dialect, text) == lead + HYDRA[text]


def test_mpich() -> None:
    """Horovod's way to tell ssh something goes into the environment; hosts are named as asked."""
    text = "-l -np 2 -ppn 1 -hosts w1,w2 -bootstrap=ssh -bootstrap-exec-args '-p 22' x"
    done = ownargs.translate(shlex.split(text), job("MPICH"))
    assert shlex.join(done.args) == "-l -np 2 -ppn 1 -hosts w1,w2 -bootstrap=ssh x"
    assert done.variables == {"HYDRA_LAUNCHER_EXTRA_ARGS": "-F /r/ssh_config -p 22"}
    assert translated("MPICH", "-H w1:1 x") == "-hosts w1:1 x"
    assert translated("MPICH", "-np 2 x", own_address="10.0.0.9") == "-localhost 10.0.0.9 -np 2 x"
    assert translated("MPICH", "-iface e x", own_address="10.0.0.9") == "-iface e x"
    assert translated("MPICH", "--version", own_address="10.0.0.9") == "--version"


def test_intel_calls_back_by_an_interface() -> None:
    """It sends this container's name beside an address; a variable reaches calls by path, too."""
    seen = {"own_address": "10.0.0.9", "own_interface": "eth0"}
    words = "-machinefile /r/hostfile -np 2 x"
    assert translated("Intel MPI", "-np 2 x", **seen) == words
    assert (
        translated("Intel MPI", "-np 2 x", own_address="10.0.0.9") == f"-localhost 10.0.0.9 {words}"
    )
    assert environment("Intel MPI", {}, **seen)["I_MPI_HYDRA_IFACE"] == "eth0"
    assert "I_MPI_HYDRA_IFACE" not in environment("Intel MPI", {"I_MPI_HYDRA_IFACE": "ib0"}, **seen)
    assert "HYDRA_IFACE" not in environment("MPICH", {}, **seen)  # ranks elsewhere would take it


def test_intel_mpi() -> None:
    """Binding is a variable there, and slots need a flag of their own."""
    done = ownargs.translate(shlex.split("-np 2 -bind-to none x"), job("Intel MPI"))
    assert shlex.join(done.args) == "-machinefile /r/hostfile -np 2 x"
    assert done.variables == {"I_MPI_PIN": "0"}
    assert translated("Intel MPI", "-H w1:2,w2:2 x") == "-hosts w1,w2 -ppn 2 x"
    assert translated("Intel MPI", "-host w1 x") == "-host w1 x"
    assert translated("Intel MPI", "-f h -N 1 x") == "-f h -ppn 1 x"
    text = "-bootstrap-exec-args '-p 22' -f h x"
    assert translated("Intel MPI", text) == "-bootstrap-exec-args '-F /r/ssh_config -p 22' -f h x"
    theirs = {"I_MPI_HYDRA_HOST_FILE": "/theirs"}
    assert ownargs.translate(["-np", "2", "x"], job("Intel MPI"), theirs).args == ("-np", "2", "x")


@pytest.mark.parametrize("dialect", VERSIONS)
def test_hosts_are_named_as_in_the_hostfile(dialect: str) -> None:
    """A name that mpirun knows under another one is replaced, with its slots; others are not."""
    flag = "-H" if dialect.startswith("Open") else "-hosts"
    done = translated(dialect, f"{flag} w_1,other x", names={"w_1": "10.0.0.1"})
    assert done == f"{flag} 10.0.0.1,other x"


@pytest.mark.parametrize("dialect", VERSIONS)
def test_ranks_are_wrapped(dialect: str) -> None:
    """What each rank is started through comes before each program, and before no question."""
    wrapper = ("/v/python", "rank.py", "{}")
    done = translated(dialect, "-f h -np 1 a -x : -np 1 -- b", wrapper=wrapper)
    if dialect.startswith("Open"):  # -f is none of its options: from there on all is unknown
        assert done == "-f h -np 1 a -x : -np 1 -- /v/python rank.py '{}' b"
    else:
        assert done == "-f h -np 1 /v/python rank.py '{}' a -x : -np 1 /v/python rank.py '{}' b"
    assert translated(dialect, "--version", wrapper=wrapper) == "--version"
    assert translated(dialect, "-np 1", wrapper=wrapper) == "-np 1"


def test_half_lines_are_kept_apart_where_mpirun_mixes_them() -> None:
    """Pieces come as they are written, in the form that the user wants, unless that has a qualifier."""
    cases = {
        "-np 2 x": "--output :raw -np 2 x",
        "-np 1 x : -np 1 y": "--output :raw -np 1 x : -np 1 y",
        "--tag-output x": "--output :raw --tag-output x",
        "--output tag,timestamp x": "--output tag,timestamp:raw x",
        "--output tag:nocopy x": "--output tag:nocopy x",
        "--output dir=/d x": "--output dir=/d x",
        "-np 2 x --output tag": "--output :raw -np 2 x --output tag",
        "--version": "--version",
    }
    for text, expected in cases.items():
        assert translated("Open MPI 5", text, raw_output=":raw") == expected
        assert translated("Open MPI 5", expected, raw_output=":raw") == expected
        assert translated("Open MPI 5", text) == text


def test_each_change_is_told_once() -> None:
    """A note names what was written, what became of it, and why."""
    text = "-np 1 -bind-to none a : -np 1 -bind-to none -q b"
    notes = ownargs.translate(shlex.split(text), job("Open MPI 5")).notes
    assert notes == (
        "-bind-to none → --bind-to none: Open MPI 5.0.11 wants two dashes",
        "-q is left out: Open MPI 5.0.11 does not know it",
    )


WORDS = st.lists(
    st.sampled_from(
        ["-np", "2", ":", "-x", "A=1", "-bind-to", "none", "-q", "-H", "w1", "prog", "-l", "=",
         "-", "--mca", "-genv", "-bind-to=", "", "-unknown"]
    ),
    max_size=12,
)  # fmt: skip


@given(WORDS, st.sampled_from(sorted(VERSIONS)))
def test_a_program_and_its_words_stay(words: list[str], dialect: str) -> None:
    """Whatever stands before it, a program and all behind it come through as they are."""
    tail = ["./program", "-bind-to", "none", "-q", "--", "-x", "A=1"]
    done = ownargs.translate([*words, ":", *tail], job(dialect))
    assert done.args[-len(tail) :] == tuple(tail)
    again = ownargs.translate(done.args, job(dialect))
    assert again.args == done.args


def environment(dialect: str, env: Mapping[str, str], **fields: object) -> dict[str, str]:
    return dict(ownjob.environment(job(dialect, **fields), env).variables)


def test_variables_of_open_mpi_4() -> None:
    """Hosts, ssh and root."""
    found = environment("Open MPI 4", {}, as_root=True, dotted_names=True)
    assert found["OMPI_MCA_orte_default_hostfile"] == "/r/hostfile"
    assert found["OMPI_MCA_plm_rsh_args"] == "-F /r/ssh_config"
    assert found["OMPI_MCA_plm_rsh_no_tree_spawn"] == "1"
    assert found["OMPI_MCA_orte_keep_fqdn_hostnames"] == "1"
    assert found["OMPI_ALLOW_RUN_AS_ROOT"] == found["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] == "1"
    assert "OMPI_ALLOW_RUN_AS_ROOT" not in environment("Open MPI 4", {})


def test_variables_of_open_mpi_5() -> None:
    """What operators set under the old names counts, under the names that 5 reads; the log says so."""
    env = {
        "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
        "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
        "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
        "PRTE_MCA_plm_ssh_no_tree_spawn": "0",
    }
    done = ownjob.environment(job("Open MPI 5"), env)
    assert done.variables["PRTE_MCA_prte_default_hostfile"] == "/etc/mpi/hostfile"
    assert done.variables["PRTE_MCA_plm_ssh_args"] == "-F /r/ssh_config -o ConnectionAttempts=10"
    assert done.variables["PRTE_MCA_prte_keep_fqdn_hostnames"] == "true"
    assert "PRTE_MCA_plm_ssh_no_tree_spawn" not in done.variables
    assert len(done.notes) == 3
    assert done.notes[0].startswith("OMPI_MCA_orte_default_hostfile → PRTE_MCA_prte_default_host")


def test_variables_of_hydra() -> None:
    """MPICH and Intel MPI have names of their own."""
    assert environment("MPICH", {}) == {
        "HYDRA_HOST_FILE": "/r/hostfile",
        "HYDRA_LAUNCHER": "ssh",
        "HYDRA_LAUNCHER_EXTRA_ARGS": "-F /r/ssh_config",
    }
    many = tuple((f"w{n}", 2 if n else 1) for n in range(17))
    assert environment("Intel MPI", {"I_MPI_HYDRA_BOOTSTRAP": "rsh"}, hosts=many) == {
        "I_MPI_HYDRA_HOST_FILE": "/r/hostfile",
        "I_MPI_HYDRA_BRANCH_COUNT": "17",
        "I_MPI_HYDRA_BOOTSTRAP_EXEC_EXTRA_ARGS": "-F /r/ssh_config",
    }
    assert environment("Intel MPI", {})["I_MPI_PERHOST"] == "1"


@pytest.mark.parametrize("dialect", VERSIONS)
def test_variables_stay(dialect: str) -> None:
    """Told twice is told once, and nothing that the user set is lost, ssh's words least of all."""
    first = environment(dialect, {"PATH": "/bin"})
    assert environment(dialect, first) == {}
    (ssh_args,) = (name for name in first if name.upper().endswith("ARGS"))
    assert environment(dialect, {ssh_args: "-v"})[ssh_args] == "-F /r/ssh_config -v"
    assert ssh_args not in environment(dialect, {ssh_args: "-F mine"})
    mine = {name: "mine" for name in first if name != ssh_args}
    assert environment(dialect, mine) == {ssh_args: first[ssh_args]}


def test_a_job_survives_json() -> None:
    """What the launcher writes the stand-ins read."""
    one = job("MPICH", names={"a": "b"}, own_address="::1", wrapper=("p", "r"))
    assert Job.of_plain(json.loads(json.dumps(one.plain()))) == one


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("w1 true", "-F /r/ssh_config w1 true"),
        ("-o A=b -p22 -i k root@w2 true", "-F /r/ssh_config -o A=b -p22 -i k root@w2 true"),
        ("-vT -- w1 -F x", "-F /r/ssh_config -vT -- w1 -F x"),
        ("root@w_1 true", "-F /r/ssh_config root@10.0.0.1 true"),
        ("w_1 -p 22 true", "-F /r/ssh_config 10.0.0.1 -p 22 true"),
        ("-F mine w1 true", "-F mine w1 true"),
        ("-vFmine w1 true", "-vFmine w1 true"),
        ("git@github.com w1", "git@github.com w1"),
        ("-V", "-V"),
        ("-o", "-o"),
        ("", ""),
    ],
)
def test_ssh(words: str, expected: str) -> None:
    """A login to a worker gets the job's keys; any other one is left alone."""
    one = job("Open MPI 5", names={"w_1": "10.0.0.1"})
    assert " ".join(owntools.ssh(words.split(), one)) == expected


@pytest.mark.parametrize(
    ("words", "lead"),
    [
        ("python x", "-H w1:1,w2:1 -np 2 "),
        ("-np 1 python x", "-H w1:1,w2:1 "),
        ("--mpi --verbose --num-proc=1 python x -H w9", "-H w1:1,w2:1 "),
        ("--no-autotune --mpi-args=--x -p 22 python", "-H w1:1,w2:1 -np 2 "),
        ("-np 2 -H w1:2 python x", ""),
        ("-np 2 -Hw1:2 python x", ""),
        ("--hostfile=h -np 2 python x", ""),
        ("-np 2 --log-level INFO -hostfile h python x", ""),
        ("--min-np 1 --host-discovery-script d python x", ""),
        ("--blacklist-cooldown-range 1 2 -H w1:1 python x", ""),
        ("--check-build", ""),
        ("-v", ""),
        ("", ""),
    ],
)
def test_horovodrun(words: str, lead: str) -> None:
    """Workers and ranks are given where the user gives no workers; a question stays a question."""
    done = owntools.horovodrun(words.split(), job("Open MPI 5"))
    assert " ".join(done.args) == lead + words
    assert bool(done.notes) == bool(lead)


def test_elastic_horovodrun() -> None:
    """An elastic call without hosts gets the script; others get hosts, as ever."""
    elastic = replace(job("Open MPI 5"), discovery="/r/d.sh")
    for words in ("--min-np 1 -np 2 x", "-np 2 --max-num-proc=4 x"):
        done = owntools.horovodrun(words.split(), elastic)
        assert " ".join(done.args) == f"--host-discovery-script /r/d.sh {words}"
    assert owntools.horovodrun(["-np", "2", "x"], elastic).args[:2] == ("-H", "w1:1,w2:1")
    given = ("--min-np", "1", "--host-discovery-script", "theirs", "x")
    assert owntools.horovodrun(given, elastic).args == given


def test_stand_ins() -> None:
    """Each remembers the real program; two MPIs in one directory are told apart by their names."""
    programs = {
        "mpirun": "/opt/intel/bin/mpirun",
        "mpiexec.hydra": "/opt/intel/bin/mpiexec.hydra",
        "ssh": "/usr/bin/ssh",
    }
    intel = standins.lay_out("/r/own", programs, job("Intel MPI"), ["/v/python", "-I", "s.py"])
    data, *scripts = intel
    assert [script.path for script in scripts] == [f"/r/own/bin/{name}" for name in programs]
    assert {script.mode for script in scripts} == {0o700}
    document = json.loads(data.text)
    assert document["programs"]["mpirun"]["path"] == "/opt/intel/bin/mpiexec.hydra"
    assert 'exec /v/python -I s.py /r/own/standins.json ssh "$@"' in scripts[-1].text
    assert standins.belongs("mpirun", "/usr/bin/orterun", openmpi=True)
    assert not standins.belongs("mpirun", "/usr/bin/mpiexec.hydra", openmpi=True)
    assert not standins.belongs("orterun", "/usr/bin/orterun", openmpi=False)
    assert standins.belongs("horovodrun", "/v/bin/horovodrun", openmpi=False)
    (_, mpirun) = standins.lay_out("/r", {"mpirun": "/usr/bin/mpirun"}, job("Open MPI 4"), ["p"])
    assert "exec /usr/bin/mpirun" in mpirun.text
