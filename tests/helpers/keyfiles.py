"""Key files as people mount them, made by the real ssh-keygen."""

from __future__ import annotations

import subprocess
from pathlib import Path

# What ssh-keygen is told for each kind; PEM is how the MPI Operator writes its ECDSA key.
KINDS = {
    "ed25519": ("-t", "ed25519"),
    "rsa": ("-t", "rsa", "-b", "2048"),
    "rsa-pem": ("-t", "rsa", "-b", "2048", "-m", "PEM"),
    "ecdsa-521-pem": ("-t", "ecdsa", "-b", "521", "-m", "PEM"),
}


def make_key(
    directory: Path, name: str = "id_ed25519", *, kind: str = "ed25519", passphrase: str = ""
) -> Path:
    """Make a key pair in a directory, which is made when missing; return the private key's path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name
    argv = ["ssh-keygen", "-q", "-C", "test", "-N", passphrase, "-f", str(path), *KINDS[kind]]
    subprocess.run(argv, check=True)
    return path


def public(key: Path) -> str:
    """Return the public line of a private key."""
    return Path(f"{key}.pub").read_text()


def make_key_directory(
    directory: Path, name: str = "id_ed25519", *, kind: str = "ed25519", authorized: bool = True
) -> Path:
    """Make a directory with a key pair and, if wanted, authorized_keys; return the directory."""
    key = make_key(directory, name, kind=kind)
    if authorized:
        (directory / "authorized_keys").write_text(public(key))
    return directory
