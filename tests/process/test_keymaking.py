"""Keys come from any secret, and from any directory's files or one clear error."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from mpiboot.errors import ConfigError
from mpiboot.runtime import keymaking
from mpiboot.runtime.keys import Origin
from tests.helpers.keyfiles import make_key, public


def test_a_secret_may_be_any_bytes() -> None:
    """The same bytes give the same keys, and they need not be text."""
    secrets = [os.fsdecode(bytes([255, 254, *range(128, 160)])), os.fsdecode(b"\xff" * 32)]
    made = [keymaking.examine(Origin(secret=one)).host_publics for one in (*secrets, secrets[0])]
    assert made[0] == made[2]
    assert made[0] != made[1]


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_a_comment_cannot_authorise_a_key(tmp_path: Path, sign: str) -> None:
    """What follows a sign that only Python takes for a line's end is still the comment, as sshd has it."""
    key, other = make_key(tmp_path / "keys"), make_key(tmp_path / "other")
    line = public(key).strip()
    (tmp_path / "keys" / "authorized_keys").write_text(f"{line} me{sign}{public(other)}")
    _, texts = keymaking._material(Origin(directory=str(tmp_path / "keys")), Path("/made"))
    lines = str(texts[Path("/made/authorized_keys")]).removesuffix("\n").split("\n")
    keys = [one.removeprefix("restrict,pty ") for one in lines]
    assert keys[0] != lines[0]  # the options are those
    assert not any(one.startswith(public(other).rsplit(" ", 1)[0]) for one in keys)


@pytest.mark.parametrize("algorithm", ["X25519", "X448", "Ed448"])
def test_a_key_that_ssh_cannot_use_is_named(tmp_path: Path, algorithm: str) -> None:
    """A private key of another kind is a clear error, with its file and why."""
    path = tmp_path / "id"
    subprocess.run(["openssl", "genpkey", "-algorithm", algorithm, "-out", str(path)], check=True)
    with pytest.raises(ConfigError, match="no usable private key") as fault:
        keymaking.examine(Origin(directory=str(tmp_path)))
    assert f"{path}: " in str(fault.value)
    assert "\n" not in str(fault.value)
