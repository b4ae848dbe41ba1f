"""What must be found nowhere: a job's secret and its private keys, in each form that a file may hold."""

from __future__ import annotations

import base64
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from cryptography.hazmat.primitives import serialization as form
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tests.docker.conftest import docker

_SHORT = 32  # lines of a key's text that are shorter may stand elsewhere, too
_LIMIT = 64 << 20  # bytes of one file
_SKIPPED = ("proc/", "sys/", "dev/")


def of_text(text: str) -> set[bytes]:
    """Return a secret text, and as base64 and hex show it."""
    raw = text.encode()
    return {raw, base64.b64encode(raw).rstrip(b"="), raw.hex().encode()}


def of_key(text: bytes) -> set[bytes]:
    """Return the forms of a private key: its seed raw, in hex and base64, and the lines of its file.

    The first lines of an OpenSSH key hold its public half and no more, so the seed tells the others.
    """
    key = form.load_ssh_private_key(text, password=None)
    assert isinstance(key, Ed25519PrivateKey)
    seed = key.private_bytes_raw()
    lines = [one for one in text.splitlines() if len(one) >= _SHORT and b"-----" not in one]
    body = base64.b64decode(b"".join(lines))
    private = [
        one for one in lines if base64.b64decode(one + b"===")[:8] in body[body.index(seed) - 48 :]
    ]
    return {seed, seed.hex().encode(), base64.b64encode(seed).rstrip(b"="), *private}


def found(data: bytes, needles: set[bytes]) -> bool:
    """Tell whether one of the needles is in some bytes."""
    return any(needle in data for needle in needles)


def in_container(name: str, needles: set[bytes]) -> list[str]:
    """List the files of a container, changed since its image, that hold a needle; mounts are not in it."""
    changed = {
        line[2:].lstrip("/")
        for line in docker("diff", name, check=True).stdout.splitlines()
        if line[0] in "AC"
    }
    with subprocess.Popen(["docker", "export", name], stdout=subprocess.PIPE) as export:
        assert export.stdout is not None
        seen = [path for path, data in _files(export.stdout, changed) if found(data, needles)]
    assert export.returncode == 0
    return sorted(seen)


def _files(stream: IO[bytes], changed: set[str]) -> Iterator[tuple[str, bytes]]:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            path = member.name.removeprefix("./")
            if member.isfile() and path in changed and not path.startswith(_SKIPPED):
                file = archive.extractfile(member)
                assert file is not None
                yield path, file.read(_LIMIT)
    while stream.read(1 << 20):  # padding
        pass


def in_directory(directory: Path, needles: set[bytes]) -> list[str]:
    """List the files below a directory that hold a needle."""
    return sorted(
        str(path.relative_to(directory))
        for path in directory.rglob("*")
        if path.is_file() and not path.is_symlink() and found(path.read_bytes(), needles)
    )


def in_processes(names: list[str], needles: set[bytes]) -> list[str]:
    """List the processes of containers whose command line or environment holds a needle."""
    seen = []
    for name in names:
        told = docker("top", name, "-eo", "pid,args", check=True).stdout.splitlines()[1:]
        for pid, words in (line.split(None, 1) for line in told):
            for what in ("cmdline", "environ"):
                try:
                    data = Path(f"/proc/{pid}/{what}").read_bytes()
                except (FileNotFoundError, ProcessLookupError):  # it has ended
                    continue
                if found(data, needles):
                    seen.append(f"{name} {what} of {words}")
    return seen
