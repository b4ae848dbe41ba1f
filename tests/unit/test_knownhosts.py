"""known_hosts is read as OpenSSH reads it."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan import knownhosts
from mpiboot.plan.knownhosts import KnownHosts, vouched
from tests.helpers.quickly import quickly

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


@pytest.mark.parametrize("names", ["|1|é|é", "|1|é", "|1||", "|1|a=|b"])
def test_a_broken_hash_vouches_for_nothing(names: str) -> None:
    """Whatever stands where base64 should."""
    assert vouched(f"{names} {KEY}", "w1", 22) == ()


@pytest.mark.parametrize(
    "names", ["*a" * 8000 + "b", "*?" * 8000 + "x", ",".join(["*w*1*x"] * 9000)]
)
def test_no_pattern_takes_long(names: str) -> None:
    """Stars without an end are read in a moment."""
    with quickly():
        assert vouched(f"{names} {KEY}", "a" * 250, 2222) == ()


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\r"])
def test_only_a_newline_ends_a_line(sign: str) -> None:
    """A comment does not become an entry by a sign that ssh does not take for a line's end."""
    assert vouched(f"# a comment{sign}w1 {KEY}", "w1", 22) == ()


@given(st.text("w1*?[]:!", max_size=8), st.sampled_from(["w1", "w11", "w", "1w1"]))
def test_patterns_match_as_regular_expressions_would(pattern: str, name: str) -> None:
    """`*` is any number of any signs, `?` is one, all others stand for themselves."""
    regex = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    if "!" not in pattern and pattern:
        assert bool(vouched(f"{pattern} {KEY}", name, 22)) is bool(re.fullmatch(regex, name))


@given(st.text(max_size=120), st.sampled_from(["w1", "fd00::1"]))
def test_any_text_vouches_for_keys_or_nothing(text: str, name: str) -> None:
    """No text raises, and a key is two words."""
    assert all(len(key.split()) == 2 for key in vouched(text, name, 22))


@given(
    st.lists(
        st.sampled_from(["w1", "w2", "fd00::1", "10.0.0.1"]), min_size=1, max_size=3, unique=True
    ),
    st.booleans(),
)
def test_what_is_written_vouches_again(names: list[str], as_hash: bool) -> None:
    """A line that names hosts, hashed or not, vouches for each of them and for no other."""
    text = "".join(f"{hashed(name) if as_hash else name} {KEY}\n" for name in names)
    for name in ("w1", "w2", "fd00::1", "10.0.0.1", "w3"):
        assert bool(vouched(text, name, 22)) is (name in names)


_NAMES = st.lists(
    st.sampled_from(["w1", "W1", "w2", "w*", "!w2", "w?", "[w1]:2222", "[w*]:*", "", "|1|x", hashed("w1")]),
    min_size=1,
    max_size=3,
).map(",".join)  # fmt: skip


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "@revoked ", "@cert-authority ", "#"]), _NAMES,
                  st.sampled_from([KEY, OTHER])),
        max_size=6,
    ),
    st.sampled_from(["w1", "w2", "W2", "w3"]),
    st.sampled_from([22, 2222]),
)  # fmt: skip
def test_lines_found_by_name_are_those_that_match(
    lines: list[tuple[str, str, str]], name: str, port: int
) -> None:
    """What is found by a host's name is what a look at each line finds."""
    text = "\n".join(f"{marker}{names} {key}" for marker, names, key in lines)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(knownhosts, "_PATTERN", frozenset(text))  # each line has one of these signs
        by_each = vouched(text, name, port)
    assert vouched(text, name, port) == by_each


def test_a_file_that_names_many_hosts_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Asking for each of many hosts looks at no line but its own, and at those with patterns."""
    looked: list[str] = []
    matches = knownhosts._matches

    def watched(names: str, asked: set[str]) -> bool:
        looked.append(names)
        return matches(names, asked)

    monkeypatch.setattr(knownhosts, "_matches", watched)
    many = KnownHosts("".join(f"w{n} {KEY}\n" for n in range(100)) + f"x* {OTHER}\n")
    assert all(many.vouched(f"w{n}", 22) == (KEY,) for n in range(100))
    assert looked == ["x*"] * 100
