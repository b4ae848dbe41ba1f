"""sshd_config, ssh_config and known_hosts are right for each OpenSSH, and cannot be injected into."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.record import replace
from mpiboot.plan import sshconf
from mpiboot.plan.layout import Place
from mpiboot.plan.sshconf import ServerTerms
from mpiboot.plan.startups import Startups
from tests.helpers.keyfiles import make_key

TERMS = ServerTerms(
    port=2222,
    user="mpi",
    host_keys=("/run/m/host_key",),
    authorized_keys="/run/m/authorized_keys",
    environment={},
    bridge=("/p/python", "-I", "-S", "/p/bridge.py", "/run/m/agent.sock"),
    log_level="VERBOSE",
    openssh=(9, 2),
    use_pam=False,
    strict_modes=True,
    startups=Startups(begin=1000, full=2000, per_source=100),
)
W1 = Place(name="w1", node="w1", slots=1, address="10.0.0.1", port=2200, user="u", why="")


def words(text: str) -> dict[str, str]:
    return dict(line.strip().split(" ", 1) for line in text.splitlines())


def test_keys_only_one_user_nothing_forwarded() -> None:
    """What a job needs is on, all else is off."""
    got = words(sshconf.sshd_config(TERMS))
    assert got["Port"] == "2222"
    assert got["AllowUsers"] == "mpi"
    assert got["AuthenticationMethods"] == "publickey"
    for name in ("PasswordAuthentication", "PermitTTY", "PermitUserRC", "UseDNS", "UsePAM"):
        assert got[name] == "no"
    assert got["DisableForwarding"] == "yes"
    assert got["StrictModes"] == "yes"
    assert int(got["MaxStartups"].split(":")[0]) >= 100


# Keyword → the first version that has it.
SINCE = {
    "PerSourceMaxStartups": (8, 5),
    "PubkeyAcceptedAlgorithms": (8, 5),
    "RequiredRSASize": (9, 1),
    "PerSourcePenalties": (9, 8),
}
VERSIONS = [(0, 0), (8, 0), (8, 2), (8, 4), (8, 5), (8, 9), (9, 0), (9, 1), (9, 2), (9, 7), (9, 8), (9, 9),
            (10, 0), (10, 2)]  # fmt: skip


@pytest.mark.parametrize("openssh", VERSIONS)
def test_each_word_only_where_that_sshd_knows_it(openssh: tuple[int, int]) -> None:
    """An unknown keyword or algorithm ends an older sshd; a newer one must not ban the job's hosts."""
    got = words(sshconf.sshd_config(replace(TERMS, openssh=openssh)))
    for word, since in SINCE.items():
        assert (word in got) is (openssh >= since), word
    assert ("PubkeyAcceptedKeyTypes" in got) is (openssh < (8, 5))
    assert got["KexAlgorithms"].startswith("mlkem768x25519-sha256,") is (openssh >= (9, 9))
    assert "sntrup" not in got["KexAlgorithms"]


def test_only_strong_algorithms() -> None:
    """No SHA-1, no CBC, no chacha20 (Terrapin), no MAC over the plain text, no certificates."""
    texts = [sshconf.sshd_config(TERMS), client_of([])]
    for text in texts:
        got = words(text)
        assert set(got["Ciphers"].split(",")) <= {
            "aes128-gcm@openssh.com", "aes256-gcm@openssh.com", "aes128-ctr", "aes256-ctr",
        }  # fmt: skip
        assert all("-etm@" in mac for mac in got["MACs"].split(","))
        assert "cert" not in got["PubkeyAcceptedAlgorithms"]
        assert "ssh-rsa" not in got["PubkeyAcceptedAlgorithms"].split(",")
        assert "ecdsa-sha2-nistp521" in got["PubkeyAcceptedAlgorithms"]  # the MPI Operator's own
    assert words(texts[1])["KexAlgorithms"] == "-*-sha1"


@pytest.mark.parametrize("openssh", [(8, 0), (9, 1)])
def test_the_sshd_here_takes_the_words_of_older_ones(
    openssh: tuple[int, int], tmp_path: Path
) -> None:
    """A real sshd, newer than the version rendered for, reads it and says that nothing else is open."""
    sshd = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin:/usr/local/sbin")
    if sshd is None:
        pytest.skip("no sshd on this machine")
    key = make_key(tmp_path)
    terms = replace(
        TERMS, openssh=openssh, host_keys=(str(key),), sources=("10.0.0.0/8", "127.0.0.1")
    )
    (tmp_path / "config").write_text(sshconf.sshd_config(terms))
    argv = [sshd, "-T", "-f", str(tmp_path / "config")]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    if "privilege separation" in done.stderr.lower():
        pytest.skip("no /run/sshd, and no right to make it")
    assert done.returncode == 0, done.stderr
    told = done.stdout.lower().splitlines()
    for line in ("permittty no", "disableforwarding yes", "permitopen none", "permitlisten none",
                 "permittunnel no", "gatewayports no", "authorizedkeyscommand none", "compression no",
                 "trustedusercakeys none", "allowusers mpi@10.0.0.0/8", "allowusers mpi@127.0.0.1",
                 "passwordauthentication no", "kbdinteractiveauthentication no"):  # fmt: skip
        assert line in told, line


def test_sources_and_terminals_are_as_chosen() -> None:
    """--ssh-from names the user at each source and nowhere else; --ssh-pty gives a terminal."""
    got = words(sshconf.sshd_config(replace(TERMS, sources=("10.0.0.0/8", "::1"), pty=True)))
    assert got["AllowUsers"] == "mpi@10.0.0.0/8 mpi@::1"
    assert got["PermitTTY"] == "yes"


def test_a_lease_that_is_shared_is_named_for_its_host_alone() -> None:
    """The first value that ssh finds counts; a per cent sign in a path is one."""
    places = [
        Place(name=name, node=name, slots=1, address=f"10.0.0.{number}", port=22, user="", why="")
        for number, name in enumerate(("w1", "w2"), start=1)
    ]
    config = sshconf.ssh_config(
        places, user="mpi", port=22, identity="/k", known_hosts="/h", masters={"w2": "/run/50%/1"}
    )
    of_w2 = config.partition("Host w2\n")[2]
    assert '  ControlPath "/run/50%%/1"\n' in of_w2.partition("Host *")[0]
    assert config.count("ControlPath") == 2
    assert "  ControlPath none\n" in of_w2.partition("Host *")[2]


def test_the_client_forwards_nothing_and_asks_nobody() -> None:
    """The ssh of mpirun has keys only, and opens nothing towards the launcher."""
    got = words(client_of([]))
    for name in ("PasswordAuthentication", "KbdInteractiveAuthentication", "HostbasedAuthentication",
                 "ForwardAgent", "ForwardX11", "Tunnel", "Compression"):  # fmt: skip
        assert got[name] == "no", name
    assert got["ClearAllForwardings"] == "yes"


def test_the_ssh_here_takes_the_client_words(tmp_path: Path) -> None:
    """A real ssh reads ssh_config, and is left with strong key exchanges only."""
    ssh = shutil.which("ssh")
    if ssh is None:
        pytest.skip("no ssh on this machine")
    (tmp_path / "config").write_text(client_of([W1]))
    argv = [ssh, "-G", "-F", str(tmp_path / "config"), "w1"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True)
    told = dict(line.split(" ", 1) for line in done.stdout.splitlines() if " " in line)
    assert "curve25519-sha256" in told["kexalgorithms"]
    assert "sha1" not in told["kexalgorithms"]
    assert told["stricthostkeychecking"] in ("true", "yes")


def client_of(places: list[Place]) -> str:
    return sshconf.ssh_config(places, user="mpi", port=22, identity="/k", known_hosts="/h")


def test_one_setenv_line() -> None:
    """A second SetEnv line is ignored, so all stand in one; SHLVL keeps bash from its rc file."""
    text = sshconf.sshd_config(replace(TERMS, environment={"B": 'x "y" \\z', "A": "1 2"}))
    (line,) = [line for line in text.splitlines() if line.startswith("SetEnv")]

    assert line == 'SetEnv "A=1 2" "B=x \\"y\\" \\\\z" "SHLVL=1"'


def test_ssh_config_pins_each_place() -> None:
    """Each node has the address that answered; the rest is for all, and never asks anybody."""
    text = sshconf.ssh_config([W1], user="mpi", port=22, identity="/k", known_hosts="/h")
    first, _, common = text.partition("Host *\n")
    assert first == "Host w1\n  HostName 10.0.0.1\n  Port 2200\n  HostKeyAlias w1\n  User u\n"
    got = words(common)
    assert got["User"] == "mpi"
    assert got["IdentityFile"] == '"/k"'
    assert got["IdentitiesOnly"] == got["BatchMode"] == got["StrictHostKeyChecking"] == "yes"
    assert got["UserKnownHostsFile"] == '"/h"'


def test_this_container_needs_no_ssh() -> None:
    """A place without an address has no block."""
    here = replace(W1, address="")
    text = sshconf.ssh_config([here], user="mpi", port=22, identity="/k", known_hosts="/h")
    assert text.startswith("Host *\n")


@given(
    st.dictionaries(
        st.from_regex(r"[A-Z_]{1,8}", fullmatch=True),
        st.text(st.characters(exclude_characters="\n\r\0", codec="utf-8"), max_size=40),
        min_size=1,
        max_size=5,
    )
)
def test_no_value_can_add_a_line(env: dict[str, str]) -> None:
    """A variable's value stays inside its quotes, whatever it holds."""
    text = sshconf.sshd_config(replace(TERMS, environment=env))
    assert len(text.split("\n")) == len(sshconf.sshd_config(TERMS).split("\n"))
    (line,) = [line for line in text.split("\n") if line.startswith("SetEnv ")]
    wanted = sorted({**env, "SHLVL": "1"}.items())
    assert _split(line.removeprefix("SetEnv ")) == [f"{k}={v}" for k, v in wanted]


def _split(text: str) -> list[str]:
    """Split double-quoted words as OpenSSH's argv_split does: a backslash escapes quote and itself."""
    found, rest = [], text
    while rest:
        assert rest[0] == '"'
        word, at = "", 1
        while rest[at] != '"':
            at += rest[at] == "\\" and rest[at + 1] in '"\\'
            word += rest[at]
            at += 1
        found.append(word)
        rest = rest[at + 1 :].lstrip(" ")
    return found
