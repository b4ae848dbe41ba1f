"""Make key files: derive them from a secret, or copy a pair and derive the host key from it.

Run as a program it does so in a short-lived process, so that a worker need not keep a cryptography
library in memory.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.model.record import asdict
from mpiboot.runtime import cores, files
from mpiboot.runtime.keys import HOW_TO_MAKE, KeyMaterial, Origin, look, why_not

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

    _Found = tuple[str, PrivateKeyTypes, bytes]  # file name, key, file content

_PUBLIC_TYPES = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                 "ecdsa-sha2-nistp521")  # fmt: skip
# A second fence behind sshd_config, which also decides about terminals: commands and subsystems only.
_RESTRICTED = "restrict,pty"
_USUAL_NAMES = ("id_", "ssh-privatekey")  # ssh's own; a Kubernetes Secret of that type


def prepare(origin: Origin, directory: Path) -> KeyMaterial:
    """Derive or copy the keys into `directory`.

    Raises:
        ConfigError: no usable private key; names every file that was looked at and why.
    """
    material, texts = _material(origin, directory)
    for path, text in texts.items():
        files.write(path, text)
    return material


def examine(origin: Origin) -> KeyMaterial:
    """Tell what `prepare` would make; nothing is written.

    Raises:
        ConfigError: as `prepare`.
    """
    return _material(origin, Path())[0]


def _material(origin: Origin, directory: Path) -> tuple[KeyMaterial, dict[Path, str | bytes]]:
    """Derive or read the keys; return them with the texts of their files."""
    authorized: list[str] = []
    known_hosts = ""
    if origin.secret:
        user, text = _derived(origin.secret.encode(errors="surrogateescape"), b"user key"), b""
        host = _derived(origin.secret.encode(errors="surrogateescape"), b"host key")
    else:
        user, text, authorized, known_hosts = _from_directory(Path(origin.directory))
        host = _derived(_canonical(user), b"host key")
    publics = [_public(host), _public(user)]
    host_files = [directory / "host_key"]
    if not publics[1].startswith("ssh-ed25519"):
        # Images made for the MPI Operator pin the job's own key as every worker's host key.
        host_files.append(directory / "user_key")
    lines = dict.fromkeys([publics[1], *authorized])
    material = KeyMaterial(
        identity=str(directory / "user_key"),
        authorized_keys=str(directory / "authorized_keys"),
        host_keys=tuple(str(path) for path in host_files),
        host_publics=tuple(publics),
        known_hosts=known_hosts,
        what=origin.what,
    )
    return material, {
        directory / "user_key": text or _private_text(user),
        host_files[0]: _private_text(host),
        directory / "authorized_keys": "".join(f"{_RESTRICTED} {line}\n" for line in lines),
    }


def _from_directory(place: Path) -> tuple[PrivateKeyTypes, bytes, list[str], str]:
    """Choose the key pair of a directory by content, whatever the files are called."""
    keys: list[_Found] = []
    problems, known_hosts = [], ""
    publics: dict[str, list[str]] = {}
    for path, data in look(place):
        if not data:
            problems.append(f"{path}: {why_not(path, PermissionError(13, 'Permission denied'))}")
        elif b"PRIVATE KEY-----" in data:
            try:
                keys.append((path.name, _load(data), data))
            except Exception as fault:  # noqa: BLE001 - the library raises of all kinds
                problems.append(f"{path}: {' '.join(str(fault).split())[:200]}")
        elif path.name == "known_hosts":
            known_hosts = data.decode(errors="replace")
        else:
            publics[path.name] = _public_lines(data)
    if not keys:
        found = "; ".join(problems) or ("it is empty or not there" if not look(place) else
                                        "no file in it holds a private key")  # fmt: skip
        raise ConfigError(f"no usable private key in {place}: {found}", hint=HOW_TO_MAKE)
    every = [line for lines in publics.values() for line in lines]
    authorized = publics.get("authorized_keys") or every
    _, key, text = min(keys, key=lambda found: _doubt(found, authorized, every))
    return key, text, authorized, known_hosts


def _doubt(
    found: _Found, authorized: list[str], publics: list[str]
) -> tuple[bool, bool, bool, str]:
    """Rank a key for being the job's: a home directory may hold others, each with its public half.

    First the one that the directory authorises, then one with its public half beside it, then one
    with a name that ssh itself would try.
    """
    name, key, _ = found
    public = _public(key)
    pairs = ({" ".join(line.split()[:2]) for line in lines} for lines in (authorized, publics))
    known, paired = (public in lines for lines in pairs)
    return not known, not paired, not name.startswith(_USUAL_NAMES), name


def _public_lines(data: bytes) -> list[str]:
    # No other sign ends a line for sshd: what follows one in a comment must not become a key.
    lines = (line.strip() for line in data.decode(errors="replace").split("\n"))
    return [line for line in lines if line.split(" ", 1)[0] in _PUBLIC_TYPES]


def _load(data: bytes) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - heavy

    if b"OPENSSH PRIVATE KEY" in data:
        key: PrivateKeyTypes = serialization.load_ssh_private_key(data, password=None)
    else:
        key = serialization.load_pem_private_key(data, password=None)
    if _public(key).split(" ", 1)[0] not in _PUBLIC_TYPES:
        raise ValueError("keys of this type are not for ssh")
    return key


def _derived(material: bytes, purpose: bytes) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives import hashes  # noqa: PLC0415 - heavy
    from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: PLC0415 - heavy
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: PLC0415 - heavy

    kdf = HKDF(algorithm=hashes.SHA256(), length=32, salt=b"mpiboot 1", info=purpose)
    return ed25519.Ed25519PrivateKey.from_private_bytes(kdf.derive(material))


def _canonical(key: PrivateKeyTypes) -> bytes:
    """Render a key so that two encodings of the same key give the same bytes."""
    from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415 - heavy

    return key.private_bytes(s.Encoding.DER, s.PrivateFormat.PKCS8, s.NoEncryption())


def _private_text(key: PrivateKeyTypes) -> bytes:
    from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415 - heavy

    return key.private_bytes(s.Encoding.PEM, s.PrivateFormat.OpenSSH, s.NoEncryption())


def _public(key: PrivateKeyTypes) -> str:
    from cryptography.hazmat.primitives import serialization as s  # noqa: PLC0415 - heavy

    public = key.public_key()
    return public.public_bytes(s.Encoding.OpenSSH, s.PublicFormat.OpenSSH).decode()


def _load_libraries() -> None:
    """Load what making keys takes, while nobody waits for it."""
    with contextlib.suppress(ImportError):  # whoever needs it will say so
        from cryptography.hazmat.primitives import (  # noqa: PLC0415 - heavy
            hashes,  # noqa: F401
            serialization,  # noqa: F401
        )
        from cryptography.hazmat.primitives.asymmetric import ed25519  # noqa: F401, PLC0415 - heavy
        from cryptography.hazmat.primitives.kdf.hkdf import HKDF  # noqa: F401, PLC0415 - heavy


def main() -> None:
    """Prepare as told on stdin, or examine without a directory, and answer on stdout, as JSON."""
    cores.withhold()
    _load_libraries()
    asked = sys.stdin.buffer.read()
    if not asked:  # begun ahead, and not needed
        return
    request = json.loads(asked)
    origin, directory = Origin(**request["origin"]), request["directory"]
    try:
        made = prepare(origin, Path(directory)) if directory else examine(origin)
    except MpibootError as fault:
        answer: Mapping[str, object] = {"error": str(fault.args[0]), "hint": fault.hint}
    except OSError as fault:
        answer = {"error": f"cannot write the keys: {fault}"}
    else:
        answer = asdict(made)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
