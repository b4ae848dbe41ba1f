"""What people write of sources is what sshd reads, or one clear line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ExitCode, ProblemsError
from mpiboot.model import flags, sources
from mpiboot.model.options import ConfigFile, resolve

TRIE = """Main:
  +-- 0.0.0.0/0 3 0 5
     |-- 10.1.0.0
        /16 link UNICAST
     |-- 10.1.2.3
        /32 host LOCAL
     |-- 127.0.0.1
        /32 host LOCAL
"""
V6 = "fd000000000000000000000000000005 02 40 00 80     eth0\n"


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("10.0.0.0/8", ("10.0.0.0/8",)),
        ("10.0.0.0/8, 192.168.1.7 fd00::/8", ("10.0.0.0/8", "192.168.1.7", "fd00::/8")),
        (["10.1.*", "10.1.*"], ("10.1.*",)),
        ("0:0::1", ("::1",)),
        ((), ()),
    ],
)
def test_networks_addresses_and_patterns(written: object, read: tuple[str, ...]) -> None:
    """Each form comes out as sshd has it; a network is written once."""
    assert sources.read(written) == read


@pytest.mark.parametrize(
    "written",
    ["", [], " , ", "launcher", "10.0.0.1/8", "10.0.0.0/33", "!10.0.0.1", "root@10.1.*", 7, True, "1.*\n",
     "10.1.*;x", "é*", [["10.0.0.0/8"]]],
)  # fmt: skip
def test_what_is_no_source_is_refused(written: object) -> None:
    """Nothing that sshd would read otherwise, and no empty list that would let all in."""
    if written == "1.*\n":  # white space divides
        assert sources.read(written) == ("1.*",)
        return
    with pytest.raises(ValueError, match="networks"):
        sources.read(written)


def test_host_bits_are_told_with_the_network() -> None:
    """OpenSSH refuses a network with host bits; the right one is named."""
    with pytest.raises(
        ValueError, match=r"10\.0\.0\.1/8 has host bits, its network is 10\.0\.0\.0/8"
    ):
        sources.read("10.0.0.1/8")


@given(st.text(max_size=60))
def test_whatever_is_written_cannot_leave_its_word(text: str) -> None:
    """A source has no space, quote, @ or line end, so AllowUsers stays one line about one user."""
    try:
        got = sources.read(text)
    except ValueError:
        return
    for source in got:
        assert source
        assert set(source) <= set("0123456789abcdefABCDEF.:*?/")


def test_own_addresses_are_added_only_where_sources_are_given() -> None:
    """The proof over loopback and a launcher that is a worker go on; nobody is let in by no list."""
    own = sources.local(TRIE, V6)
    assert own == ("10.1.2.3", "127.0.0.1", "fd00::5")
    assert sources.with_own((), own) == ()
    allowed = sources.with_own(("10.9.0.0/16",), own)
    assert allowed == ("10.9.0.0/16", "127.0.0.1", "::1", "10.1.2.3", "fd00::5")
    assert sources.local("", "rubbish\n") == ()


@pytest.mark.parametrize(
    ("argv", "env", "yaml", "code"),
    [
        (["--ssh-from", "launcher"], {}, "", ExitCode.USAGE),
        ([], {"MPIBOOT_SSH_FROM": "launcher"}, "", ExitCode.CONFIG),
        ([], {}, "ssh_from: []\n", ExitCode.CONFIG),
    ],
)
def test_a_bad_value_is_one_line(
    argv: list[str], env: dict[str, str], yaml: str, code: ExitCode
) -> None:
    """Where it stands, what it is, what was expected; 64 for a flag, else 78."""
    given, problems = flags.parse(flags.parser("mpiboot worker", "worker", ""), argv)
    file = ConfigFile(name="c.yaml", text=yaml) if yaml else None
    with pytest.raises(ProblemsError) as caught:
        resolve(given, env, file, problems)
    assert caught.value.code == code
    assert "networks (10.0.0.0/8), addresses, or patterns" in str(caught.value)


def test_flags_add_up() -> None:
    """The flag may be given several times, each with several networks."""
    argv = ["--ssh-from", "10.0.0.0/8,10.1.*", "--ssh-from", "fd00::/8"]
    given, problems = flags.parse(flags.parser("mpiboot worker", "worker", ""), argv)
    settings = resolve(given, {}, None, problems).settings
    assert settings.ssh_from == ("10.0.0.0/8", "10.1.*", "fd00::/8")
