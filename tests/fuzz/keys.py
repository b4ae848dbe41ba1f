"""Key directories, known_hosts, authorized_keys: keys that ssh reads as we do, or one clear error."""

from __future__ import annotations

import tempfile
from pathlib import Path

from mpiboot.errors import ConfigError
from mpiboot.plan import knownhosts, sshlog
from mpiboot.runtime import keymaking
from mpiboot.runtime.keys import Origin

_NAMES = ("id_ed25519", "authorized_keys", "known_hosts", "id_ed25519.pub", "ssh-privatekey")
_RESTRICTED = "restrict,pty "
_MARK = b"\n=====\n"
_PUBLIC = (
    b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ/nGB0ezY4Ef2fFTqBQdLQ5zTlMc0hYq4Kf1YVmLF9P a comment\n"
)
_EC = (  # made for this place, and used nowhere
    b"-----BEGIN PRIVATE KEY-----\n"
    b"MC4CAQAwBQYDK2VwBCIEIAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8g\n"
    b"-----END PRIVATE KEY-----\n"
)
SEEDS = (
    _MARK.join((_EC, _PUBLIC, b"* " + _PUBLIC)),
    _EC,
    b"-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\n-----END OPENSSH PRIVATE KEY-----\n",
    b"-----BEGIN RSA PRIVATE KEY-----\nMAA=\n-----END RSA PRIVATE KEY-----\n",
    _MARK + b'command="x",no-pty ' + _PUBLIC + _MARK + b"w1,[w1]:2222 " + _PUBLIC + b"|1|c2FsdA==|aGFzaA== "
    + _PUBLIC + b"@revoked *.x,!y " + _PUBLIC,
    b"Accepted publickey for root from 10.0.0.7 port 40000 ssh2: ED25519 SHA256:x\n",
)  # fmt: skip


def judge(data: bytes) -> None:
    """Lay the bytes down as the files of a directory, and read it as a worker does."""
    with tempfile.TemporaryDirectory(prefix="mpiboot-fuzz-") as place:
        _judge(Path(place), data)


def _judge(place: Path, data: bytes) -> None:
    parts = data.split(_MARK)
    for name, part in zip(_NAMES, [*parts, *[b""] * len(_NAMES)], strict=False):
        (place / name).write_bytes(part)
    try:
        material, texts = keymaking._material(Origin(directory=str(place)), Path("/made"))
    except ConfigError as fault:
        assert "\n" not in str(fault)
        assert len(str(fault)) < 3000
    else:
        assert 1 <= len(material.host_keys) <= 2
        lines = str(texts[Path("/made/authorized_keys")]).removesuffix("\n").split("\n")
        # Nothing but whole lines of the files may let somebody in.
        given = {
            line.strip() for part in parts for line in part.decode(errors="replace").split("\n")
        }
        assert all(line.startswith(_RESTRICTED) for line in lines)
        whole = {line.removeprefix(_RESTRICTED) for line in lines}
        assert whole - {material.host_publics[1]} <= given
    text = data.decode(errors="replace")
    for name, port in (("w1", 2222), ("fd00::1", 22), ("a.b", 22)):
        for key in knownhosts.vouched(text, name, port):
            assert len(key.split()) == 2
            assert any(key in " ".join(line.split()) for line in text.split("\n"))
    for line in text.split("\n"):
        sshlog.shown(sshlog.classify(line), "INFO")
