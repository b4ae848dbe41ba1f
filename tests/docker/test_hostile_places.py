"""Every user, root file system and set of capabilities: a job runs, or the refusal says what is missing.

The table in docs/places.md is what came of it: MPIBOOT_WRITE_DOCS=1 writes it anew.
"""

from __future__ import annotations

import itertools
import os
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.docker.conftest import ROOT, Box, docker
from tests.docker.test_images import image
from tests.helpers.accountfiles import MPI, passwd
from tests.helpers.mounting import mounts

pytestmark = pytest.mark.docker

PAGE = ROOT / "docs/places.md"
RANDOM = "1000650000:0"  # as OpenShift chooses them
JOB = ("python3", "/opt/mpiboot/share/programs/allreduce.py")
AT_ONCE = 3

USERS = {"root": "0", "uid 1000, in /etc/passwd": str(MPI), "random uid, group 0": RANDOM}
ROOTS = {"writable": (), "read-only, tmpfs at /tmp": ("--read-only", "--tmpfs", "/tmp")}
CAPABILITIES = {
    "default": (),
    "drop ALL": ("--cap-drop", "ALL"),
    "restricted": ("--cap-drop", "ALL", "--security-opt", "no-new-privileges"),
}
SSHDS = {"OpenSSH 9.2": "openmpi4", "OpenSSH 10.0": "openmpi5"}


@dataclass(frozen=True)
class Cell:
    """One place in the matrix, by the names of the tables above."""

    user: str
    root: str
    capabilities: str
    sshd: str

    @property
    def options(self) -> tuple[str, ...]:
        return ("--user", USERS[self.user], *ROOTS[self.root], *CAPABILITIES[self.capabilities])


CELLS = [Cell(*names) for names in itertools.product(USERS, ROOTS, CAPABILITIES, SSHDS)]


def outcome(box: Box, cell: Cell, accounts: str) -> str:
    """Run a job over two workers in such containers; return how it went, in a few words."""
    stack, mark = SSHDS[cell.sshd], f"c{CELLS.index(cell)}"
    options = (*cell.options, "-v", f"{accounts}:/etc/passwd:ro", *mounts(stack))
    if cell.user.startswith("random"):
        options = (*cell.options, *mounts(stack))
    workers = [f"{mark}w1", f"{mark}w2"]
    for name in workers:
        box.start(name, "worker", image=image(stack), options=options)
    hosts = ",".join(f"{name}:1" for name in workers)
    words = ("launcher", "--hosts", hosts, "--wait-timeout", "60", "--", *JOB)
    refused = [] if runs(cell) else [box.wait(workers[0])]
    if refused:
        said = re.findall(r"error: exit \d+: (.*?)(?:;|$)", box.logs(workers[0]), re.MULTILINE)
        box.wait(workers[1])
        return f"{refused[0]}: {said[0]}"
    box.start(f"{mark}l", *words, image=image(stack), options=options)
    codes = [box.wait(name) for name in (f"{mark}l", *workers)]
    logs = {name: box.logs(name) for name in (f"{mark}l", *workers)}
    assert codes == [0, 0, 0], logs
    assert "allreduce: sum=3 expected=3 ranks=2 hosts=2" in logs[f"{mark}l"]
    assert not [text for text in logs.values() if "Traceback" in text]
    return "runs"


def runs(cell: Cell) -> bool:
    """Tell whether a job can run there: root's sshd has to change root and user for each login."""
    return cell.user != "root" or cell.capabilities == "default"


@pytest.fixture(scope="module")
def page() -> Iterator[dict[str, str]]:
    """Collect the rows of the table; they are those of the page, or written there."""
    rows: dict[str, str] = {}
    yield rows
    begin, end = "<!-- places -->\n", "<!-- /places -->"
    before, _, rest = PAGE.read_text().partition(begin)
    after = rest.partition(end)[2]
    head = ["user", "root file system", "capabilities", *SSHDS]
    lines = [head, ["---"] * len(head)]
    made = "".join(f"| {' | '.join(line)} |\n" for line in lines) + "".join(
        rows[key] for key in sorted(rows, key=list(rows).index)
    )
    if os.environ.get("MPIBOOT_WRITE_DOCS"):
        PAGE.write_text(f"{before}{begin}{made}{end}{after}")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("root", ROOTS)
def test_a_job_or_the_exact_refusal(
    box: Box, page: dict[str, str], tmp_path: Path, user: str, root: str
) -> None:
    """With all capabilities, none, and none to be gained, under both sshds, as the page says."""
    accounts = passwd(tmp_path).source
    cells = [cell for cell in CELLS if (cell.user, cell.root) == (user, root)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        told = pool.map(lambda cell: outcome(box, cell, accounts), cells)
        found = dict(zip(cells, told, strict=True))
    for capabilities in CAPABILITIES:
        row_of = [found[cell] for cell in cells if cell.capabilities == capabilities]
        row = f"| {' | '.join((user, root, capabilities, *row_of))} |\n"
        page[f"{user} {root} {capabilities}"] = row
        assert os.environ.get("MPIBOOT_WRITE_DOCS") or row in PAGE.read_text()


@pytest.mark.parametrize(
    "where",
    [
        ("--read-only", "--tmpfs", "/run"),
        ("--read-only",),
        ("--read-only", "--security-opt", "no-new-privileges"),
    ],
)
def test_ssh_12_what_else_may_be_writable(box: Box, where: tuple[str, ...]) -> None:
    """A tmpfs at /run only, or nothing but the /dev/shm that every engine mounts: root's job runs.

    That no privileges can be gained is nothing to root, who has them.
    """
    options = (*where, *mounts("openmpi4"))
    box.start("w1", "worker", image=image("openmpi4"), options=options)
    words = ("launcher", "--hosts", "w1:2", "--", *JOB)
    box.start("l", *words, image=image("openmpi4"), options=options)
    assert box.wait("l") == 0, box.logs("l")
    assert box.wait("w1") == 0
    assert "temporary files go to" in box.logs("w1")


def test_nowhere_to_write(tmp_path: Path) -> None:
    """Without even /dev/shm each place is named with its reason, and what to mount."""
    options = (
        "--network", "none", "--read-only", "--ipc", "none", "--user", str(MPI), "-v",
        f"{passwd(tmp_path).source}:/etc/passwd:ro", "-e", "MPIBOOT_SECRET=a secret of this test",
        *mounts("openmpi4"), image("openmpi4"),
    )  # fmt: skip
    for words in (("worker",), ("launcher", "--hosts", "w1", "--", "true")):
        done = docker("run", "--rm", *options, *words, timeout=60)
        assert done.returncode == 78, done.stderr
        for place in ("/run/mpiboot", "/tmp/mpiboot-1000", "/dev/shm/mpiboot-1000"):
            assert f"{place}: " in done.stderr, done.stderr
        assert "Read-only file system" in done.stderr
        assert "mount a tmpfs at /run or /tmp" in done.stderr
        assert "Traceback" not in done.stderr


def test_ssh_08_a_wrapper_that_the_image_has_set_up(box: Box, tmp_path: Path) -> None:
    """Images for OpenShift often load nss_wrapper in their own entry point: that account is used."""
    own = tmp_path / "own"
    own.write_text("root:x:0:0::/root:/bin/bash\njovyan:x:1000650000:0::/tmp:/bin/bash\n")
    own.chmod(0o644)
    options = (
        "--user", RANDOM, "-v", f"{own}:/etc/own:ro", "-e", "NSS_WRAPPER_PASSWD=/etc/own", "-e",
        "NSS_WRAPPER_GROUP=/etc/group", "-e", "LD_PRELOAD=libnss_wrapper.so", *mounts("openmpi4"),
    )  # fmt: skip
    box.start("w1", "worker", image=image("openmpi4"), options=options)
    words = ("launcher", "--no-lease-sessions", "--hosts", "w1", "--", "id", "-un")
    box.start("l", *words, image=image("openmpi4"), options=options)
    assert box.wait("l") == 0, box.logs("l")
    assert "jovyan\n" in box.logs("l")
    assert "Accepted publickey for jovyan" in box.logs("w1")
