"""Key material: found or derived, copied into the private directory, known on both sides.

Whoever holds the job's secret or its private key can tell which host key a worker of the job must
show: the host key is derived from it. So host keys are checked everywhere and never switched off.
The files themselves are made by `keymaking`.
"""

from __future__ import annotations

import contextlib
import json
import os
import pwd
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from mpiboot.errors import ConfigError, MpibootError
from mpiboot.model.counting import counted
from mpiboot.model.record import asdict, dataclass, field

if TYPE_CHECKING:  # the process that makes the keys needs neither, and asyncio is slow to import
    from mpiboot.model.settings import Settings
    from mpiboot.runtime.children import Children

LEAST_SECRET = 16
_FILE_LIMIT = 64 * 1024
_FILES_LIMIT = 256
HOW_TO_MAKE = (
    "make a secret with `mpiboot keygen --out FILE` and give both roles MPIBOOT_SECRET_FILE, or name"
    " a directory that holds a key pair with MPIBOOT_KEY_DIR; in an MPIJob, let sshAuthMountPath and"
    " fsGroup put the operator's keys where this user can read them"
)


@dataclass(frozen=True, kw_only=True)
class Origin:
    """Where the key material comes from: a directory, or a secret (never logged)."""

    directory: str = ""
    secret: str = field(default="", repr=False)
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
    origin = seek(settings, env)
    if origin is None:
        raise ConfigError(f"no key material: looked in {', '.join(_places(env))}", hint=HOW_TO_MAKE)
    return origin


def seek(settings: Settings, env: Mapping[str, str]) -> Origin | None:
    """Tell where the job's key material is; None: nothing names any, and none is found.

    Raises:
        ConfigError: what is named cannot be used.
    """
    if settings.secret_file:
        text = _read_secret(settings.secret_file)
        return Origin(secret=_checked(text, settings.secret_file), what=settings.secret_file)
    if settings.secret:
        return Origin(secret=_checked(settings.secret, "MPIBOOT_SECRET"), what="MPIBOOT_SECRET")
    if settings.key_dir:
        return Origin(directory=settings.key_dir, what=settings.key_dir)
    found = next((place for place in _places(env) if _holds_private_key(Path(place))), "")
    return Origin(directory=found, what=found) if found else None


def _places(env: Mapping[str, str]) -> list[str]:
    return ["/etc/mpiboot/keys", *(f"{home}/.ssh" for home in _homes(env))]


async def prepare_in_child(origin: Origin, directory: Path, children: Children) -> KeyMaterial:
    """Prepare the files in a process of their own.

    Raises:
        ConfigError: as `prepare`.
    """
    return await _in_child(origin, str(directory), children)


async def examine_in_child(origin: Origin, children: Children) -> KeyMaterial:
    """Tell what would be prepared, without a file written.

    Raises:
        ConfigError: as `prepare`.
    """
    return await _in_child(origin, "", children)


async def _in_child(origin: Origin, directory: str, children: Children) -> KeyMaterial:
    from mpiboot.runtime import headstart  # noqa: PLC0415 - not for the process that makes the keys

    request = json.dumps({"origin": asdict(origin), "directory": directory}).encode()
    done = await children.run(headstart.KEYMAKING, timeout_s=30, stdin=request)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise MpibootError(f"preparing keys failed ({done.code}): {done.text[-500:]}") from None
    if "error" in answer:
        raise ConfigError(answer["error"], hint=answer.get("hint", ""))
    return _from_json(answer)


def new_secret() -> str:
    """Make a job secret: 256 random bits as URL-safe text."""
    import base64  # noqa: PLC0415 - workers make none

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
        raise ConfigError(f"secret file {path}: {why_not(Path(path), fault)}") from fault


def _checked(secret: str, what: str) -> str:
    secret = secret.strip()
    if len(secret) < LEAST_SECRET:
        raise ConfigError(
            f"the job secret in {what} has {counted(len(secret), 'character')}, fewer than {LEAST_SECRET}",
            hint="make one with `mpiboot keygen`",
        )
    return secret


def _holds_private_key(place: Path) -> bool:
    return any(b"PRIVATE KEY-----" in data or not data for _, data in look(place))


def look(place: Path) -> list[tuple[Path, bytes]]:
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


def why_not(path: Path, fault: OSError) -> str:
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


def _from_json(answer: Mapping[str, object]) -> KeyMaterial:
    values = {k: tuple(v) if isinstance(v, list) else v for k, v in answer.items()}
    return KeyMaterial(**values)  # type: ignore[arg-type]
