"""sshd's words and files: what a worker takes over, and what is not sshd's serving."""

from __future__ import annotations

import shlex

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.plan import sshdcall
from mpiboot.plan.sshdcall import DEFAULT_FILE, SshdCall


def called(text: str) -> SshdCall:
    call = sshdcall.parse(shlex.split(text))
    assert call is not None
    return call


def usual(text: str, config: str = "") -> dict[str, object]:
    found = sshdcall.terms(called(text), sshdcall.expand(config, lambda _: []))
    return {name: value for name, (value, _) in found.usual.items()}


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("-De", DEFAULT_FILE),
        ("-D -e", DEFAULT_FILE),
        ("-De -f /home/mpiuser/.sshd_config", "/home/mpiuser/.sshd_config"),
        ("-Def/x", "/x"),
        ("-4D -E /var/log/x", DEFAULT_FILE),
    ],
)
def test_forms_of_workers(text: str, file: str) -> None:
    """The operator's default, the form of its users' images, and their kin stay in the foreground."""
    call = called(text)
    assert (call.foreground, call.file) == (True, file)


def test_into_the_background() -> None:
    """`sshd` alone goes into the background."""
    assert not called("").foreground
    assert not called("-p 2222").foreground


@pytest.mark.parametrize(
    "text",
    ["-t", "-T", "-G", "-i", "-R", "-V", "-d", "-tf /x", "-T -C user=x", "-D -t", "-De extra", "-D -f",
     "--help", "-X", "-D -"],
)  # fmt: skip
def test_other_purposes(text: str) -> None:
    """Tests, inetd, its own re-execution, debugging, and words that it would refuse are its own."""
    assert sshdcall.parse(shlex.split(text)) is None


@pytest.mark.parametrize(
    ("text", "config", "port"),
    [
        ("-De", "Port 2222\n", 2222),
        ("-De", "  port = 2222\nPort 22\n", 2222),
        ("-De -p 2200", "Port 2222\n", 2200),
        ("-De -o Port=2201", "Port 2222\n", 2201),
        ("-De -oPort=2201 -p 2202", "", 2201),
        ("-De", "#Port 22\n", None),
        ("-De", "Port ssh\n", None),
        ("-De", "Match user x\nPort 2222\n", None),
    ],
)
def test_port(text: str, config: str, port: int | None) -> None:
    """The first word counts: sshd's own options, then its file; what holds for some only does not."""
    assert usual(text, config).get("ssh_port") == port


def test_the_operators_own_file() -> None:
    """Its base image's file for uid 1000: port and key pair are taken over, all else is no loss."""
    config = (
        "PidFile /home/mpiuser/sshd.pid\nHostKey /home/mpiuser/.ssh/id_rsa\nStrictModes no\n"
        "Port 2222\n"
    )
    call = called("-De -f /home/mpiuser/.sshd_config")
    found = sshdcall.terms(call, sshdcall.expand(config, lambda _: []))
    assert found.usual == {
        "key_dir": ("/home/mpiuser/.ssh", "HostKey in /home/mpiuser/.sshd_config"),
        "ssh_port": (2222, "Port in /home/mpiuser/.sshd_config"),
    }
    assert found.dropped == ()


def test_what_has_no_effect_is_named() -> None:
    """Once each, as it is written."""
    config = "AcceptEnv LANG\nAcceptEnv LC_*\nHostKey /etc/ssh/ssh_host_rsa_key\nUsePAM yes\n"
    found = sshdcall.terms(called("-De"), sshdcall.expand(config, lambda _: []))
    assert found.dropped == ("AcceptEnv", "HostKey", "UsePAM")


def test_log_level() -> None:
    """A worker knows one level of debugging."""
    assert usual("-De", "LogLevel DEBUG3\n") == {"sshd_log_level": "DEBUG"}
    assert usual("-De", "LogLevel LOUD\n") == {}


def test_includes() -> None:
    """Included files are read where they stand; names without a directory lie in /etc/ssh."""
    texts = {"/etc/ssh/a.d/*.conf": ["Port 1\n", "Port 2\n"], "/b": ["Include c\n"]}
    found = sshdcall.expand(
        "Include a.d/*.conf /b\nPort 3\n", lambda pattern: texts.get(pattern, [])
    )
    assert found == [("Port", "1"), ("Port", "2"), ("Port", "3")]


def test_a_file_that_includes_itself() -> None:
    """Ends."""
    assert len(sshdcall.expand("Port 1\nInclude x\n", lambda _: ["Port 1\nInclude x\n"])) < 20


@given(st.text(), st.lists(st.text(max_size=8), max_size=6))
def test_arbitrary_input(config: str, words: list[str]) -> None:
    """Whatever stands there, the answer is a decision: a port is a port."""
    call = sshdcall.parse(words) or called("-De")
    found = sshdcall.terms(call, sshdcall.expand(config, lambda _: [config]))
    port = found.usual.get("ssh_port", (1, ""))[0]
    assert isinstance(port, int)
    assert 0 < port < 65536
