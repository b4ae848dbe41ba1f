"""known_hosts is read as OpenSSH reads it."""

from __future__ import annotations

import base64
import hashlib
import hmac

import pytest

from mpiboot.plan.knownhosts import vouched

KEY = "ssh-ed25519 AAAAC3Nz"
OTHER = "ssh-rsa AAAAB3Nz"


def hashed(name: str) -> str:
    salt = b"salt"
    digest = hmac.digest(salt, name.encode(), hashlib.sha1)
    return f"|1|{base64.b64encode(salt).decode()}|{base64.b64encode(digest).decode()}"


@pytest.mark.parametrize(
    "names",
    ["w1", "W1", "w0,w1", "*", "w?", "w*,x", "[w1]:2222", "[w1]:*", hashed("w1"), hashed("[w1]:2222")],
)  # fmt: skip
def test_a_line_vouches(names: str) -> None:
    """Names, lists, patterns, ports and hashes vouch for w1 on port 2222."""
    assert vouched(f"{names} {KEY} a comment\n", "w1", 2222) == (KEY,)


@pytest.mark.parametrize(
    "line",
    [
        f"w2 {KEY}", f"[w1]:22 {KEY}", f"!w1,* {KEY}", f"#w1 {KEY}", f"@cert-authority * {KEY}",
        f"{hashed('w2')} {KEY}", f"|1|x {KEY}", f"|1|!|! {KEY}", f"w[1] {KEY}", "w1 ssh-ed25519", "w1", "@", "",
    ],
)  # fmt: skip
def test_a_line_does_not_vouch(line: str) -> None:
    """Other names, negations, comments, authorities and broken lines vouch for nothing."""
    assert vouched(line, "w1", 2222) == ()


def test_a_port_matters_where_it_is_not_22() -> None:
    """On port 22 a line with another port does not count."""
    assert vouched(f"[w1]:2222 {KEY}", "w1", 22) == ()


def test_several_keys_of_one_host() -> None:
    """All keys of a host are good, in the file's order, each once."""
    text = f"w1 {OTHER}\n\n*.x {KEY}\n* {KEY}\nw1 {KEY}\n"
    assert vouched(text, "w1", 22) == (OTHER, KEY)


def test_a_revoked_key_is_taken_out() -> None:
    """A revoked key is not believed, wherever the line stands."""
    text = f"w1 {KEY}\nw1 {OTHER}\n@revoked * {KEY}\n"
    assert vouched(text, "w1", 22) == (OTHER,)
