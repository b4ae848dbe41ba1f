"""Where the keys will come from, as a plan says it; that none are there yet is no fault of a plan."""

from __future__ import annotations

import pwd
from pathlib import Path
from typing import Any

import pytest

from mpiboot.errors import ConfigError
from mpiboot.model.settings import Settings
from mpiboot.roles import keyring
from mpiboot.runtime import keys


@pytest.fixture(autouse=True)
def _homeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the keys of whoever runs the tests out of it."""

    def unknown(_uid: int) -> Any:
        raise KeyError

    monkeypatch.setattr(pwd, "getpwuid", unknown)


def test_a_plan_without_keys_says_what_is_missing(tmp_path: Path) -> None:
    """A note with the remedy, while the job itself is refused."""
    env = {"HOME": str(tmp_path)}
    said = keyring.note(Settings(), env)
    assert said.startswith("no keys are there yet, and the job needs some: ")
    for remedy in ("mpiboot keygen", "MPIBOOT_SECRET_FILE", "MPIBOOT_KEY_DIR"):
        assert remedy in said
    with pytest.raises(ConfigError, match="no key material: looked in /etc/mpiboot/keys, /"):
        keys.find(Settings(), env)


def test_keys_that_are_there_are_named(tmp_path: Path) -> None:
    """Those of a home as well as those of a setting, with what names them."""
    (tmp_path / ".ssh").mkdir()
    (tmp_path / ".ssh" / "id_ed25519").write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    assert keyring.note(Settings(), {"HOME": str(tmp_path)}).startswith(
        f"keys from {tmp_path}/.ssh;"
    )
    secret = Settings(secret="s" * keys.LEAST_SECRET)
    assert keyring.note(secret, {}).startswith("keys from MPIBOOT_SECRET;")
    named = Settings(key_dir=str(tmp_path / "nowhere"))
    assert keyring.note(named, {}).startswith(f"keys from {tmp_path}/nowhere;")


def test_named_keys_that_cannot_be_used_are_a_fault_of_the_plan(tmp_path: Path) -> None:
    """What a setting names is wrong for the job, and so for its plan."""
    for wrong in (Settings(secret="short"), Settings(secret_file=str(tmp_path / "nowhere"))):
        with pytest.raises(ConfigError):
            keyring.note(wrong, {"HOME": str(tmp_path)})
