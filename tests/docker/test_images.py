"""Every stack's image: the MPI that its name promises, a Python that speaks to it, and no more."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from tests.docker.conftest import ROOT, Project, docker

pytestmark = pytest.mark.docker


@dataclass(frozen=True)
class Stack:
    """What a stack's image has.

    Attributes:
        debian: the release of its base.
        launcher: what its mpirun says of its version.
        library: what mpi4py says of the MPI that it found.
        trains: whether Horovod is there.
    """

    debian: str
    launcher: str
    library: str
    trains: bool = False


STACKS = {
    "openmpi4": Stack("12", r"\(Open MPI\) 4\.1\.4", "Open MPI v4.1.4"),
    "openmpi5": Stack("13", r"\(Open MPI\) 5\.0\.7", "Open MPI v5.0.7"),
    "mpich": Stack("13", r"HYDRA[^$]*Version: +4\.2\.1", "MPICH Version:      4.2.1"),
    "mpich4.0": Stack("12", r"HYDRA[^$]*Version: +4\.0\.2", "MPICH Version:\t4.0.2"),
    "intelmpi": Stack("12", r"Intel\(R\) MPI.* 2021\.18\.1", "Intel(R) MPI Library 2021.18.1"),
    "horovod": Stack("12", r"\(Open MPI\) 4\.1\.4", "Open MPI v4.1.4", trains=True),
    "horovod-openmpi5": Stack("12", r"\(Open MPI\) 5\.0\.11", "Open MPI v5.0.11", trains=True),
}
TRAINING = [name for name, stack in STACKS.items() if stack.trains]
PROGRAMS = "/opt/mpiboot/share/programs"
# Open MPI minds root, and more ranks than cores; the others do not know the names.
MAY = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
    "PRTE_MCA_hwloc_default_binding_policy": "none",
}


def image(stack: str, kind: str = "") -> str:
    """Name a stack's image."""
    return f"mpiboot/{stack}{kind}:dev"


def run(name: str, *command: str) -> str:
    """Run a command in a container of its own; return both of its streams."""
    env = [word for pair in MAY.items() for word in ("-e", "=".join(pair))]
    first, *rest = command
    done = docker("run", "--rm", "--network", "none", *env, "--entrypoint", first, name, *rest)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_every_stack_is_tested() -> None:
    """A stack of the Dockerfile is a stack of these tests."""
    text = (ROOT / "images" / "Dockerfile").read_text()

    assert re.findall(r"^FROM (?:bookworm|trixie) AS (.+)$", text, re.MULTILINE) == list(STACKS)


@pytest.mark.parametrize("kind", ["", "-test"])
@pytest.mark.parametrize("stack", STACKS)
def test_image_is_the_agent_on_the_debian_promised(stack: str, kind: str) -> None:
    """Both images of a stack start the agent, on the release that the stack stands on."""
    assert docker("run", "--rm", image(stack, kind), "version").stdout.startswith("mpiboot ")
    assert f'VERSION_ID="{STACKS[stack].debian}"' in run(
        image(stack, kind), "cat", "/etc/os-release"
    )


@pytest.mark.parametrize("stack", STACKS)
def test_launcher_and_mpi4py_are_of_the_mpi_promised(stack: str) -> None:
    """`mpirun` is of the stack's MPI and version, and so is the library that mpi4py loads."""
    ask = "from mpi4py import MPI; print(MPI.Get_library_version())"

    assert re.search(STACKS[stack].launcher, run(image(stack), "mpirun", "--version"))
    assert STACKS[stack].library in run(image(stack), "python3", "-c", ask)


@pytest.mark.parametrize("stack", STACKS)
def test_two_ranks_are_one_world(stack: str) -> None:
    """Two ranks sum a vector together: launcher and library of different MPIs are two worlds of one."""
    said = run(image(stack), "mpirun", "-np", "2", "python3", f"{PROGRAMS}/allreduce.py")

    assert "sum=3 expected=3 ranks=2 hosts=1" in said, said


@pytest.mark.parametrize("stack", TRAINING)
def test_horovod_trains_over_mpi(stack: str) -> None:
    """Two ranks of Horovod, wired by MPI alone, end with the same weights and a small loss."""
    said = run(image(stack), "mpirun", "-np", "2", "python3", f"{PROGRAMS}/train_mxnet.py")

    for rank in ("rank 0/2 local 0/2", "rank 1/2 local 1/2"):
        assert re.search(
            rf"^{rank} host \S+ mpi_built=True mpi_enabled=True$", said, re.MULTILINE
        ), said
    losses = [float(loss) for loss in re.findall(r"^epoch \d loss (\S+)$", said, re.MULTILINE)]
    assert len(losses) == 5
    assert losses[-1] < 0.01 < losses[0]
    assert "same_on_all_ranks True" in said


@pytest.mark.parametrize("stack", STACKS)
def test_compose_file_runs_its_job_with_any_image(project: Project, stack: str) -> None:
    """MPIBOOT_IMAGE chooses the stack; the agent speaks to its MPI, and the job spans the workers."""
    env = {"MPIBOOT_IMAGE": image(stack), "MPIBOOT_SLOTS": "1"}

    done = project.compose(
        "up", "--scale", "worker=2", "--exit-code-from", "launcher", env=env, timeout=100
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "sum=3 expected=3 ranks=2 hosts=2" in done.stdout, done.stdout
    assert project.codes("worker") == [0, 0]


@pytest.mark.parametrize("kind", ["", "-test"])
@pytest.mark.parametrize("stack", STACKS)
def test_no_host_key_is_baked_in(stack: str, kind: str) -> None:
    """The image holds no SSH key: two containers of it must not be the same to a stranger."""
    keys = (
        "(",
        "-name",
        "ssh_host_*",
        "-o",
        "-name",
        "id_*",
        "-o",
        "-name",
        "authorized_keys",
        ")",
    )

    assert run(image(stack, kind), "find", "/", "-xdev", *keys, "-type", "f") == ""


@pytest.mark.parametrize("stack", STACKS)
def test_nothing_is_left_of_the_build(stack: str) -> None:
    """Compilers, pip, caches, package lists and the build's certificates stay in the build stages."""
    look = (
        "for tool in cc gcc g++ cmake make pip pip3; do command -v $tool; done;"
        " ls -A /root/.cache /src /etc/ssl/certs/ca-certificates.crt /usr/local/share/java;"
        " find /var/lib/apt/lists /var/cache/apt /var/log /tmp /usr/include -type f;"
        " find / -xdev -path '*/dist-packages/pip' -o -path '*/dist-packages/wheel' -o -name '*.a'"
    )

    assert run(image(stack), "sh", "-c", f"({look}) 2>/dev/null; true") == ""


@pytest.mark.parametrize("stack", STACKS)
def test_python_compiles_nothing_at_start(stack: str) -> None:
    """What a rank imports is compiled in the image: a fresh container would do it in every start."""
    modules = "mpi4py.MPI" + (", mxnet, horovod.mxnet" if STACKS[stack].trains else "")

    said = run(image(stack), "python3", "-v", "-c", f"import {modules}")

    # Python names the .pyc in quotes, and the source that it had to compile without.
    assert re.search(r"^# code object from '/\S+/mpi4py/\S+\.pyc'", said, re.MULTILINE)
    assert re.findall(r"^# code object from (/.*)", said, re.MULTILINE) == []


@pytest.mark.parametrize("stack", STACKS)
def test_test_image_has_what_tests_look_with(stack: str) -> None:
    """The test image adds ip, iptables and ps, and benchmarks where Debian links them with its MPI."""
    tools = ["ip", "iptables", "ps"]
    if stack.startswith("openmpi"):
        tools += ["hpcc", "NPopenmpi"]
    wanted = " && ".join(f"command -v {tool}" for tool in tools)

    assert len(run(image(stack, "-test"), "sh", "-c", wanted).split()) == len(tools)
