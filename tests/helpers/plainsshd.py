"""Workers with a plain sshd, as images without mpiboot have them."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mpiboot.local.command import TMP_IN_POD
from tests.helpers.agents import Agent, Agents
from tests.helpers.keyfiles import public

_START = "mkdir -p /run/sshd && exec /usr/sbin/sshd -D -e -f"


def plain_sshd(
    agents: Agents,
    name: str,
    *,
    host_key: Path,
    authorized: Sequence[Path],
    directory: Path,
    port: int = 22,
    words: Sequence[str] = (),
    **spec: Any,
) -> Agent:
    """Start a pod with nothing but sshd and wait until it listens.

    Args:
        agents: where the pod is made.
        name: of the pod.
        host_key: private key that it shows.
        authorized: private keys that may log in as root.
        directory: where its files go.
        port: where it listens.
        words: further lines of its configuration.
        spec: further fields of PodSpec.
    """
    place = Path(tempfile.mkdtemp(prefix=f"{name}-", dir=directory))
    keys, config = place / "authorized_keys", place / "sshd_config"
    keys.write_text("".join(public(key) for key in authorized))
    lines = (
        f"Port {port}",
        f"HostKey {host_key}",
        f"AuthorizedKeysFile {keys}",
        "PermitRootLogin yes",
        "StrictModes no",
        "UsePAM no",
        "PidFile none",
        f"SetEnv TMPDIR={TMP_IN_POD}",
        *words,
    )
    config.write_text("".join(f"{line}\n" for line in lines))
    started = agents.start(name, ("sh", "-c", f"{_START} {config}"), **spec)
    started.until_logged("Server listening on 0.0.0.0")
    return started


def known_hosts(directory: Path, keys: Mapping[str, Path]) -> Path:
    """Write a known_hosts file that vouches for the key of each host, given by name or pattern."""
    path = directory / "known_hosts"
    path.write_text("".join(f"{host} {public(key)}" for host, key in keys.items()))
    return path
