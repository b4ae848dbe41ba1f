"""The doctor in containers as engines make them: what they may do, what they can write, what they lack."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker.conftest import IMAGE, Box, docker
from tests.helpers.diagnoses import Told, read
from tests.helpers.eventually import eventually
from tests.helpers.mounting import mounts

pytestmark = pytest.mark.docker

USER, RANDOM_UID = "4321", "123456"
SECRET = ("-e", "MPIBOOT_SECRET=a secret of this test")
# What Kubernetes' Pod Security calls restricted.
RESTRICTED = ("--cap-drop", "ALL", "--security-opt", "no-new-privileges")


def diagnosed(*words: str, options: tuple[str, ...] = (), image: str = IMAGE) -> Told:
    """Run the doctor as a container's only program."""
    done = docker(
        "run", "--rm", "--network", "none", *SECRET, *mounts("openmpi4"), *options, image,
        "doctor", "--json", *words,
    )  # fmt: skip
    assert done.stdout, done.stderr
    return read(done.returncode, done.stdout)


@pytest.fixture
def derived() -> Iterator[str]:
    """A name for an image that the test builds; removed at the end."""
    name = f"mpiboot-test-{uuid.uuid4().hex[:8]}"
    yield name
    docker("image", "rm", "-f", name)


def test_as_docker_runs_it() -> None:
    """Root with Docker's defaults: a login works, /dev/shm has its 64 MB, and nothing fails."""
    told = diagnosed("--role", "worker", "--login")
    assert (told.code, told.failing) == (0, set())
    # Whether ranks may read each other's memory, too, is up to this machine's engine and kernel.
    assert "64 MiB" in told.of("shared memory", "warning")[0]["text"]
    assert "works" in told.only("login", "ok")["text"]
    assert told.only("process 1", "ok")["text"].startswith("mpiboot")


def test_more_shared_memory() -> None:
    """With --shm-size there is nothing to say against it."""
    told = diagnosed("--role", "worker", options=("--shm-size", "1g"))
    assert "1 GiB" in told.only("shared memory", "ok")["text"]


def test_a_user_without_root(derived: str) -> None:
    """A user with an account needs no capability and no writable root: a login works."""
    lines = f"FROM {IMAGE}\nRUN useradd --create-home --uid {USER} mpi\n"
    docker("build", "-t", derived, "-", stdin=lines, timeout=300, check=True)
    for options in ((), RESTRICTED, ("--read-only", "--tmpfs", "/tmp")):
        told = diagnosed(
            "--role", "worker", "--login", options=("--user", USER, *options), image=derived
        )
        assert told.failing == set(), options
        assert "port 2222" in told.of("ports", "ok")[0]["text"]


def test_a_uid_without_an_account() -> None:
    """A random uid, as OpenShift gives them: nss_wrapper is in the image, and a login works."""
    options = ("--user", f"{RANDOM_UID}:0", *RESTRICTED)
    told = diagnosed("--role", "worker", "--login", options=options)
    assert told.failing == set()
    assert "libnss_wrapper.so makes up" in told.of("user", "ok")[0]["text"]
    assert "a login of mpiboot works" in told.only("login", "ok")["text"]


def test_a_uid_that_nothing_gives_an_account(derived: str) -> None:
    """In an image without nss_wrapper the worker ends, in the doctor's words."""
    docker("build", "-t", derived, "-", check=True, timeout=300,
           stdin=f"FROM {IMAGE}\nRUN rm /usr/lib/*/libnss_wrapper.so*\n")  # fmt: skip
    options = ("--user", f"{RANDOM_UID}:0")
    told = diagnosed("--role", "worker", options=options, image=derived)
    finding = told.only("user", "will fail")
    assert told.failing == {"user"}
    assert RANDOM_UID in finding["text"]
    _same_words(told, "user", options, derived)


def test_root_without_capabilities() -> None:
    """--cap-drop ALL: no login of root's sshd can work; the worker ends at once, in the same words."""
    told = diagnosed("--role", "worker", options=("--cap-drop", "ALL"))
    assert told.failing == {"privileges"}
    _same_words(told, "privileges", ("--cap-drop", "ALL"))


def test_root_with_just_enough() -> None:
    """The three capabilities of a login, and no other."""
    adds = [w for name in ("SETUID", "SETGID", "SYS_CHROOT") for w in ("--cap-add", name)]
    told = diagnosed("--role", "worker", "--login", options=("--cap-drop", "ALL", *adds))
    assert told.failing == set()


def test_a_read_only_root() -> None:
    """Nothing but /dev/shm can be written: root's sshd lacks its directory; MPI's files are told of.

    Where /run and /tmp are a tmpfs, as engines mount it by default, a login works: noexec does no harm.
    """
    told = diagnosed("--role", "worker", options=("--read-only",))
    assert "/tmp cannot be written" in told.of("places", "warning")[0]["text"]
    if told.failing:  # the image may have /run/sshd
        assert told.failing == {"sshd"}
        _same_words(told, "sshd", ("--read-only",))
    told = diagnosed(
        "--role", "worker", "--login", options=("--read-only", "--tmpfs", "/run", "--tmpfs", "/tmp")
    )
    assert told.failing == set()


def _same_words(told: Told, topic: str, options: tuple[str, ...], image: str = IMAGE) -> None:
    """The worker in such a container ends with the finding's code, words and remedy."""
    finding = told.only(topic, "will fail")
    done = docker(
        "run", "--rm", "--network", "none", *SECRET, *mounts("openmpi4"), *options, image, "worker",
        timeout=60,
    )  # fmt: skip
    assert done.returncode == finding["exit_code"]
    assert finding["text"] in done.stderr
    assert finding["remedy"] in done.stderr


# As `setcap cap_net_bind_service+eip` does it, which images of the MPI Operator have done: revision 2
# and the flag of effect, then the permitted and the inheritable capabilities, 32 at a time.
CAPABLE = """import os, struct
data = struct.pack("<5I", 0x02000001, 1 << 10, 1 << 10, 0, 0)
os.setxattr("/usr/sbin/sshd", "security.capability", data)
"""


def test_a_private_directory_on_a_noexec_tmpfs(derived: str, tmp_path: Path) -> None:
    """Where a copy of sshd is needed, a tmpfs as engines mount it by default is no place for it.

    It is named in the worker's words; where its remedy is followed a login works.
    """
    (tmp_path / "capable.py").write_text(CAPABLE)
    (tmp_path / "Dockerfile").write_text(
        f"FROM {IMAGE}\nCOPY capable.py /\n"
        f"RUN useradd --uid {USER} mpi && python3 /capable.py && rm /capable.py\n"
    )
    docker("build", "-t", derived, str(tmp_path), timeout=300, check=True)
    options = ("--user", USER, *RESTRICTED, "--read-only", "--tmpfs", "/tmp")
    told = diagnosed("--role", "worker", options=options, image=derived)
    assert told.failing == {"privileges"}
    finding = told.only("privileges", "will fail")
    assert f"/tmp/mpiboot-{USER}" in finding["text"]
    assert "noexec" in finding["text"]
    assert "MPIBOOT_RUNTIME_DIR" in finding["remedy"]
    _same_words(told, "privileges", options, derived)

    place = ("--tmpfs", "/own:exec,mode=1777", "-e", "MPIBOOT_RUNTIME_DIR=/own/mpiboot")
    told = diagnosed("--role", "worker", "--login", options=(*options, *place), image=derived)
    assert told.failing == set()
    assert "NET_BIND_SERVICE" in told.only("privileges", "warning")["text"]


def test_an_image_without_an_mpi(derived: str) -> None:
    """What to install is said, for both roles."""
    lines = f"FROM {IMAGE}\nRUN rm -f /usr/bin/mpirun /usr/bin/mpiexec /usr/bin/orterun /usr/bin/orted\n"
    docker("build", "-t", derived, "-", stdin=lines, timeout=300, check=True)
    told = diagnosed("--role", "worker", image=derived)
    assert told.failing == {"MPI"}
    assert "openmpi-bin" in told.only("MPI", "will fail")["remedy"]
    told = diagnosed("--hosts", "127.0.0.1", image=derived)
    assert told.failing == {"MPI"}


def _start_worker(box: Box, name: str) -> None:
    """Start a worker and wait until it is ready."""
    box.start(name, "worker", options=mounts("openmpi4"))

    def ready() -> None:
        assert box.exec(name, "mpiboot", "probe").returncode == 0

    eventually(ready, timeout=30)


def test_beside_a_running_worker(box: Box) -> None:
    """`docker exec` into a worker that serves: its ports are its own, and nothing fails."""
    _start_worker(box, "w1")
    done = box.exec("w1", "mpiboot", "doctor", "--json", "--role", "worker")
    told = read(done.returncode, done.stdout)
    assert told.failing == set()
    assert "an mpiboot worker runs here" in json.dumps(told.of("ports"))


def test_reach_from_a_launcher(box: Box) -> None:
    """A launcher's container asks its workers, one of which has no sshd yet."""
    _start_worker(box, "w1")
    box.start("w2", "infinity", options=("--entrypoint", "sleep"))
    box.start(
        "launcher", "doctor", "--json", "--hosts", "w1:1,w2:1", "--reach",
        options=mounts("openmpi4"),
    )  # fmt: skip
    code = box.wait("launcher")
    told = read(code, docker("logs", f"{box.run}-launcher", check=True).stdout)
    graded = {one["text"].split(":")[0]: one["grade"] for one in told.of("reach")}
    assert graded == {"w1": "ok", "w2": "warning"}
    assert "connection refused" in told.only("reach", "warning")["text"]
