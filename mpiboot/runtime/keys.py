"""Key material: found or derived, copied into the private directory, known on both sides.

Whoever holds the job's secret or its private key can tell which host key a worker of the job must
show: the host key is derived from it. So host keys are checked everywhere and never switched off.
Run as a program it prepares the files in a short-lived process, so that a worker need not keep a
cryptography library in memory.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import pwd
import stat
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.model.settings import Settings
from mpiboot.runtime import files
from mpiboot.runtime.children import Children

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.types import PrivateKeyTypes

LEAST_SECRET = 16
_FILE_LIMIT = 64 * 1024
_FILES_LIMIT = 256
_PUBLIC_TYPES = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384",
                 "ecdsa-sha2-nistp521")  # fmt: skip
HOW_TO_MAKE = (
    "make a secret with `mpiboot keygen --out FILE` and give both roles MPIBOOT_SECRET_FILE, or name"
    " a directory that holds a key pair with MPIBOOT_KEY_DIR"
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the key material comes from: a directory, or a secret (never logged)."""

    directory: str = ""
    secret: str = ""
    what: str = ""


@dataclass(frozen=True, kw_only=True)
class KeyMaterial:
    """Private copies, ready for ssh and sshd.

    Attributes:
        identity: path of the user's private key.
        authorized_keys: path of the authorized_keys file.
        host_keys: paths of the private host keys.
        host_publics: `type base64` of every key that a worker of this job may show.
        known_hosts: lines of a known_hosts file found beside the keys.
        what: where it comes from, for people.
    """

    identity: str
    authorized_keys: str
    host_keys: tuple[str, ...]
    host_publics: tuple[str, ...]
    known_hosts: str
    what: str


def find(settings: Settings, env: Mapping[str, str]) -> Origin:
    """Tell where the job's key material is.

    Raises:
        ConfigError: there is none, or what is named cannot be used.
    """
    if settings.secret_file:
        text = _read_secret(settings.secret_file)
        return Origin(secret=_checked(text, settings.secret_file), what=settings.secret_file)
    if settings.secret:
        return Origin(secret=_checked(settings.secret, "MPIBOOT_SECRET"), what="MPIBOOT_SECRET")
    if settings.key_dir:
        return Origin(directory=settings.key_dir, what=settings.key_dir)
    places = ["/etc/mpiboot/keys", *(f"{home}/.ssh" for home in _homes(env))]
    for place in places:
        if _holds_private_key(Path(place)):
            return Origin(directory=place, what=place)
    raise ConfigError(f"no key material: looked in {', '.join(places)}", hint=HOW_TO_MAKE)


async def prepare_in_child(origin: Origin, directory: Path, children: Children) -> KeyMaterial:
    """Prepare the files in a process of their own.

    Raises:
        ConfigError: as `prepare`.
    """
    request = json.dumps({"origin": asdict(origin), "directory": str(directory)}).encode()
    argv = [sys.executable, "-I", "-m", "mpiboot.runtime.keys"]
    done = await children.run(argv, timeout_s=30, stdin=request)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise MpibootError(f"preparing keys failed ({done.code}): {done.text[-500:]}") from None
    if "error" in answer:
        raise ConfigError(answer["error"])
    return _from_json(answer)


def prepare(origin: Origin, directory: Path) -> KeyMaterial:
    """Derive or copy the keys into `directory`.

    Raises:
        ConfigError: no usable private key; names every file that was looked at and why.
    """
    authorized: list[str] = []
    known_hosts = ""
    if origin.secret:
        user, text = _derived(origin.secret.encode(), b"user key"), b""
        host = _derived(origin.secret.encode(), b"host key")
    else:
        user, text, authorized, known_hosts = _from_directory(Path(origin.directory))
        host = _derived(_canonical(user), b"host key")
    publics = [_public(host), _public(user)]
    host_files = [directory / "host_key"]
    files.write(directory / "user_key", text or _private_text(user))
    files.write(host_files[0], _private_text(host))
    if not publics[1].startswith("ssh-ed25519"):
        # Images made for the MPI Operator pin the job's own key as every worker's host key.
        host_files.append(directory / "user_key")
    lines = dict.fromkeys([publics[1], *authorized])
    files.write(directory / "authorized_keys", "".join(f"{line}\n" for line in lines))
    return KeyMaterial(
        identity=str(directory / "user_key"),
        authorized_keys=str(directory / "authorized_keys"),
        host_keys=tuple(str(path) for path in host_files),
        host_publics=tuple(publics),
        known_hosts=known_hosts,
        what=origin.what,
    )


def new_secret() -> str:
    """Make a job secret: 256 random bits as URL-safe text."""
    return base64.urlsafe_b64encode(os.urandom(32)).decode().rstrip("=")


def write_new_secret(path: str) -> None:
    """Write a new secret to a file that does not exist yet, 0600.

    Raises:
        ConfigError: it exists, or cannot be written.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ConfigError(
            f"{path} exists already", hint="name another file, or remove it"
        ) from None
    except OSError as fault:
        raise ConfigError(f"cannot write {path}: {fault.strerror}") from fault
    with os.fdopen(handle, "w") as file:
        file.write(new_secret() + "\n")


def _homes(env: Mapping[str, str]) -> list[str]:
    """List HOME and the passwd home; OpenSSH looks only at the latter, people only at the former."""
    homes = [env["HOME"]] if env.get("HOME") else []
    with contextlib.suppress(KeyError):
        homes.append(pwd.getpwuid(os.getuid()).pw_dir)
    return list(dict.fromkeys(home.rstrip("/") for home in homes))


def _read_secret(path: str) -> str:
    try:
        if Path(path).stat().st_size > _FILE_LIMIT:
            raise ConfigError(f"secret file {path} is larger than {_FILE_LIMIT} bytes")
        return Path(path).read_text(errors="surrogateescape")
    except OSError as fault:
        raise ConfigError(f"secret file {path}: {_why_not(Path(path), fault)}") from fault


def _checked(secret: str, what: str) -> str:
    secret = secret.strip()
    if len(secret) < LEAST_SECRET:
        raise ConfigError(
            f"the job secret in {what} has {len(secret)} characters, fewer than {LEAST_SECRET}",
            hint="make one with `mpiboot keygen`",
        )
    return secret


def _holds_private_key(place: Path) -> bool:
    return any(b"PRIVATE KEY-----" in data or not data for _, data in _look(place))


def _look(place: Path) -> list[tuple[Path, bytes]]:
    """Read the small files of a directory; an unreadable one comes with empty bytes."""
    seen = []
    try:
        entries = sorted(place.iterdir())[:_FILES_LIMIT]
    except OSError:
        return []
    for path in entries:
        try:
            status = path.stat()
            if stat.S_ISREG(status.st_mode) and 0 < status.st_size <= _FILE_LIMIT:
                seen.append((path, path.read_bytes()))
        except PermissionError:
            seen.append((path, b""))
        except OSError:
            continue
    return seen


def _from_directory(place: Path) -> tuple[PrivateKeyTypes, bytes, list[str], str]:
    """Choose the key pair of a directory by content, whatever the files are called."""
    keys: list[tuple[PrivateKeyTypes, bytes]] = []
    problems, publics, known_hosts = [], [], ""
    for path, data in _look(place):
        if not data:
            problems.append(f"{path}: {_why_not(path, PermissionError(13, 'Permission denied'))}")
        elif b"PRIVATE KEY-----" in data[:_FILE_LIMIT]:
            try:
                keys.append((_load(data), data))
            except (ValueError, TypeError) as fault:
                problems.append(f"{path}: {' '.join(str(fault).split())[:200]}")
        elif path.name == "known_hosts":
            known_hosts = data.decode(errors="replace")
        else:
            publics += _public_lines(data)
    if not keys:
        found = "; ".join(problems) or ("it is empty or not there" if not _look(place) else
                                        "no file in it holds a private key")  # fmt: skip
        raise ConfigError(f"no usable private key in {place}: {found}", hint=HOW_TO_MAKE)
    # Several keys: the one that the directory itself authorises is the job's.
    listed = {" ".join(line.split()[:2]) for line in publics}
    keys.sort(key=lambda pair: _public(pair[0]) not in listed)
    return keys[0][0], keys[0][1], publics, known_hosts


def _public_lines(data: bytes) -> list[str]:
    lines = (line.strip() for line in data.decode(errors="replace").splitlines())
    return [line for line in lines if line.split(" ", 1)[0] in _PUBLIC_TYPES]


def _why_not(path: Path, fault: OSError) -> str:
    """Say why a file cannot be read, with what is needed to put it right."""
    try:
        status = path.stat()
    except OSError:
        return str(fault.strerror)
    return (
        f"{fault.strerror}: mode {stat.S_IMODE(status.st_mode):04o}, owner"
        f" {status.st_uid}:{status.st_gid}, and this is uid {os.getuid()}; set fsGroup or"
        " defaultMode of the volume so that this uid can read it"
    )


def _load(data: bytes) -> PrivateKeyTypes:
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415 - heavy

    if b"OPENSSH PRIVATE KEY" in data:
        return serialization.load_ssh_private_key(data, password=None)
    return serialization.load_pem_private_key(data, password=None)


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


def _from_json(answer: Mapping[str, object]) -> KeyMaterial:
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in answer.items()}
    return KeyMaterial(**values)  # type: ignore[arg-type]


def main() -> None:
    """Prepare as told on stdin and answer on stdout, as JSON."""
    request = json.loads(sys.stdin.buffer.read())
    try:
        made = prepare(Origin(**request["origin"]), Path(request["directory"]))
    except MpibootError as fault:
        answer: Mapping[str, object] = {"error": str(fault)}
    except OSError as fault:
        answer = {"error": f"cannot write the keys: {fault}"}
    else:
        answer = asdict(made)
    sys.stdout.write(json.dumps(answer))


if __name__ == "__main__":
    main()
