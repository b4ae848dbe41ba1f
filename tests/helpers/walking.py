"""Run the blocks of a guide page as they are written: a place is one terminal, from first to last.

Commands of a page see the variables and the directory that those before them left, as in the terminal
of somebody who pastes them. The first that fails ends the walk.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.docker.conftest import docker
from tests.docker.test_images import image
from tests.helpers import guides
from tests.helpers.guides import Block
from tests.helpers.mounting import mounts

# What `mpiboot local` needs in a container, as docs/first-steps.md says.
NAMESPACES = ("--cap-add", "SYS_ADMIN", "--cap-add", "NET_ADMIN", "--security-opt",
              "seccomp=unconfined", "--security-opt", "apparmor=unconfined")  # fmt: skip
MACHINE = "debian:bookworm-slim"
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
MADE_HERE = shutil.ignore_patterns(
    ".git", ".venv", ".mpi", ".build", "dist", ".*_cache", "__pycache__"
)

_HEAD = "set -e\nexport DEBIAN_FRONTEND=noninteractive\ncd {directory}\n"
# dpkg's care for a power cut is in vain: the machine is thrown away.
_GET_MAKE = "echo force-unsafe-io >/etc/dpkg/dpkg.cfg.d/walk\napt-get update -qq\napt-get install -y -qq --no-install-recommends make >/dev/null 2>&1\n"
_RUN = "exec >{walk}/{n}.out 2>&1\n. {walk}/{n}.sh\n"
# Of these commands the last one alone may fail.
_RUN_TO = (
    "exec >{walk}/{n}.out 2>&1\nset +e\nfailed=0\ntrap 'failed=$((failed + 1))' ERR\n"
    ". {walk}/{n}.sh\ntrap - ERR\nset -e\n"
    '[ "$code $failed" = "{code} 1" ] ||'
    ' {{ echo "ended with $code after $failed failures, not with {code} after 1"; exit 1; }}\n'
)
# What differs from run to run: times, addresses, names of containers, a terminal's colours.
_VARY = (
    (re.compile(r"\x1b\[[0-9;]*[A-Za-z]"), ""),
    (re.compile(r"\b\d+(\.\d+)? (ms|s|MB|GB|MiB|GiB)\b"), "# \\2"),
    (re.compile(r"\b\d+\.\d+\.\d+\.\d+\b"), "ADDRESS"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "CONTAINER"),
)


@dataclass(frozen=True)
class Walk:
    """One page's walk.

    Attributes:
        page: to be walked.
        directory: for all that comes of it; empty at the start.
        name: of the compose project, and of nothing else on this machine.
    """

    page: Path
    directory: Path
    name: str

    def go(self, timeout_s: float) -> None:
        """Run each place's blocks, and compare what came with what the page shows."""
        for place, run in _places(guides.blocks(self.page)).items():
            walk = self.directory / place.replace(" ", "-")
            walk.mkdir()
            (walk / "script").write_text("".join(self._script(place, run, walk)))
            try:
                done = self._start(place, walk, timeout_s)
            except subprocess.TimeoutExpired:
                raise AssertionError(
                    f"{place}: not over in {timeout_s} s\n{_said(run, walk)}"
                ) from None
            if done.returncode != 0:
                raise AssertionError(
                    f"{place}: {done.returncode}\n{done.stdout}\n{_said(run, walk)}"
                )
            for block in run:
                compare(block, walk / f"{block.line}.out")

    def remove(self) -> None:
        """Remove the page's containers, networks, volumes and images."""
        mine = f"label=com.docker.compose.project={self.name}"
        for listed, removed in (
            (("ps", "-aq"), ("rm", "-fv")),
            (("network", "ls", "-q"), ("network", "rm")),
            (("volume", "ls", "-q"), ("volume", "rm")),
        ):
            if found := docker(*listed, "--filter", mine).stdout.split():
                docker(*removed, *found)
        if built := set(re.findall(r"-t (mpiboot-[\w-]+)", self.page.read_text())):
            docker("image", "rm", "-f", *built)

    def _script(self, place: str, run: Sequence[Block], walk: Path) -> Iterator[str]:
        """Yield the lines that a terminal of this place is given."""
        seen = "/walk" if place.startswith(("machine", "container")) else str(walk)
        yield _HEAD.format(directory=f"{seen}/here")
        (walk / "here").mkdir()
        if place in {"machine", "host, checkout"}:
            shutil.copytree(guides.ROOT, walk / "here", ignore=MADE_HERE, dirs_exist_ok=True)
        if place == "machine":
            yield _GET_MAKE
        for block in run:
            if block.kind == "file":
                (walk / f"{block.line}.sh").write_text(block.text)
                yield f"install -D -m 644 {seen}/{block.line}.sh {block.name}\n"
                continue
            end = "code=$?\n" if block.code else ""
            (walk / f"{block.line}.sh").write_text(commands(block) + end)
            yield (_RUN_TO if block.code else _RUN).format(walk=seen, n=block.line, code=block.code)

    def _start(self, place: str, walk: Path, timeout_s: float) -> subprocess.CompletedProcess[str]:
        """Run a place's script to its end."""
        label = ("--label", f"com.docker.compose.project={self.name}")
        inside = ("run", "--rm", *label, "-v", f"{walk}:/walk")
        if place == "machine":
            return docker(*inside, *NAMESPACES, *_trust(), MACHINE, "bash", "/walk/script",
                          timeout=timeout_s)  # fmt: skip
        if place.startswith("container"):
            stack = place.split()[1]
            return docker(*inside, *mounts(stack), "--entrypoint", "bash", image(stack),
                          "/walk/script", timeout=timeout_s)  # fmt: skip
        (walk / "home").mkdir()
        config = os.environ.get("DOCKER_CONFIG", str(Path.home() / ".docker"))
        env = {
            **os.environ, "HOME": str(walk / "home"), "DOCKER_CONFIG": config,
            "COMPOSE_PROJECT_NAME": self.name,
        }  # fmt: skip
        return subprocess.run(
            ["bash", str(walk / "script")], capture_output=True, text=True, errors="replace",
            stdin=subprocess.DEVNULL, timeout=timeout_s, env=env, check=False,
        )  # fmt: skip


def walk(page: Path, directory: Path, timeout_s: float = 300) -> None:
    """Walk a page to its end and clean up behind it; wherever it ended."""
    made = Walk(page, directory, f"walk-{uuid.uuid4().hex[:8]}")
    try:
        made.go(timeout_s)
    finally:
        made.remove()


def commands(block: Block) -> str:
    """Return what somebody types: all of a `sh` block, and what stands behind `$ ` in a `console`."""
    if block.language == "sh":
        return block.text
    return "".join(f"{line[2:]}\n" for line in block.text.splitlines() if line.startswith("$ "))


def compare(block: Block, path: Path) -> None:
    """Assert that each line that a page shows has come, in whatever order; `…` is any words."""
    shown = [line for one in block.shown for line in one.text.splitlines()]
    if block.language == "console":
        shown += [line for line in block.text.splitlines() if not line.startswith("$ ")]
    came = [_plain(line) for line in path.read_text(errors="replace").splitlines()] if shown else []
    for line in shown:
        if line.strip() in {"", "…"}:
            continue
        form = re.compile(".*".join(map(re.escape, _plain(line).split("…"))))
        fits = next((one for one in came if form.fullmatch(one)), None)
        if fits is None:
            raise AssertionError(f"{block}: this line did not come: {line}\n{path.read_text()}")
        came.remove(fits)


def _plain(line: str) -> str:
    for form, instead in _VARY:
        line = form.sub(instead, line)
    return line.strip()


def _places(found: Sequence[Block]) -> dict[str, list[Block]]:
    """Share blocks out to places, in order; a file is where the next commands are."""
    here = "host, checkout" if any(block.kind == "checkout" for block in found) else "host"
    places: dict[str, list[Block]] = {}
    files: list[Block] = []
    for block in found:
        if block.kind == "file":
            files.append(block)
        elif block.kind in guides.RUN:
            far = {"machine": "machine", "container": f"container {block.name}"}
            places.setdefault(far.get(block.kind, here), []).extend([*files, block])
            files = []
    if files:
        raise AssertionError(f"{files[0]}: nothing is run with this file")
    return places


def _said(run: Sequence[Block], walk: Path) -> str:
    """Return the last block that was run, and what came of it."""
    last = [block for block in run if (walk / f"{block.line}.out").exists()][-1:]
    return "".join(
        f"{block}:\n{block.text}---\n{(walk / f'{block.line}.out').read_text(errors='replace')}"
        for block in last
    )


def _trust() -> tuple[str, ...]:
    """Return the options that let pip in a container trust whom this machine trusts."""
    bundle = Path(os.environ.get("PIP_CERT", CERTIFICATES))
    if not bundle.is_file():
        return ()
    return ("-v", f"{bundle}:/walk-ca.crt:ro", "-e", "PIP_CERT=/walk-ca.crt")
