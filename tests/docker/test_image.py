"""The agent in an image: immune to the user's variables, usable as a layer or a stage."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator

import pytest

from tests.docker.conftest import IMAGE, Box, docker

pytestmark = pytest.mark.docker

HOSTILE = (
    "-e", "PYTHONPATH=/tmp/evil", "-e", "PYTHONHOME=/nowhere", "-e", "LD_LIBRARY_PATH=/tmp/evil",
    "-e", "LD_PRELOAD=/tmp/evil/missing.so",
)  # fmt: skip


@pytest.fixture
def derived() -> Iterator[str]:
    """A name for an image that the test builds; removed at the end."""
    name = f"mpiboot-test-{uuid.uuid4().hex[:8]}"
    yield name
    docker("image", "rm", "-f", name)


def _build(name: str, *lines: str) -> None:
    done = docker("build", "-t", name, "-", timeout=300, stdin="\n".join(lines))
    assert done.returncode == 0, done.stdout + done.stderr


def test_agent_is_immune_to_the_users_interpreter_and_loader(box: Box) -> None:
    """PYTHONPATH, PYTHONHOME, LD_LIBRARY_PATH and LD_PRELOAD do not touch the agent, and reach the job."""
    box.start("w1", "worker", options=HOSTILE)
    show = 'echo "path=$PYTHONPATH home=$PYTHONHOME lib=$LD_LIBRARY_PATH pre=$LD_PRELOAD"'
    box.start(
        "launcher", "launcher", "--hosts", "w1:1", "--", "sh", "-c", show, options=HOSTILE[4:6]
    )

    assert box.wait("launcher") == 0, box.logs("launcher") + box.logs("w1")
    wanted = "path=/tmp/evil home=/nowhere lib=/tmp/evil pre=/tmp/evil/missing.so"
    assert wanted in box.logs("launcher")


def test_entrypoint_is_the_agent() -> None:
    """`docker run IMAGE version` speaks to the agent, and a wrong word is a usage error."""
    config = json.loads(docker("inspect", IMAGE, check=True).stdout)[0]["Config"]

    assert config["Entrypoint"] == ["/usr/local/bin/mpiboot"]
    assert docker("run", "--rm", IMAGE, "version").stdout.startswith("mpiboot ")
    assert docker("run", "--rm", IMAGE, "wrker").returncode == 64


def test_bash_completes_what_the_agent_takes() -> None:
    """The script that lies where bash-completion looks is that of the very agent in the image."""
    place = "/usr/share/bash-completion/completions/mpiboot"
    words = f"mpiboot completion bash | cmp - {place}"
    docker("run", "--rm", "--entrypoint", "sh", IMAGE, "-c", words, check=True)


def test_base_layer_from(box: Box, derived: str) -> None:
    """`FROM` the image and a file of one's own is all that a job needs."""
    _build(derived, f"FROM {IMAGE}", "RUN printf 'print(42)\\n' > /train.py")
    box.start("w1", "worker", image=derived)
    box.start(
        "launcher", "launcher", "--hosts", "w1:1", "--", "python3", "/train.py", image=derived
    )

    assert box.wait("launcher") == 0
    assert "42" in box.logs("launcher")


def test_stage_to_copy_from(box: Box, derived: str) -> None:
    """The agent copied into another image of the same Debian runs the same job."""
    _build(
        derived,
        f"FROM {IMAGE} AS agent",
        f"FROM {IMAGE}",
        "RUN rm -rf /opt/mpiboot /usr/local/bin/mpiboot",
        "COPY --from=agent /opt/mpiboot /opt/mpiboot",
        "COPY --from=agent /usr/local/bin/mpiboot /usr/local/bin/mpiboot",
        'ENTRYPOINT ["/usr/local/bin/mpiboot"]',
    )
    box.start("w1", "worker", image=derived)
    box.start("launcher", "launcher", "--hosts", "w1:1", "--", "hostname", image=derived)

    assert box.wait("launcher") == 0
    assert "w1" in box.logs("launcher").split()
