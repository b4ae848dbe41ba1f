"""What is written for OpenSSH is read by the real one as it was meant, whatever stands in it."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mpiboot.model.record import replace
from mpiboot.plan import knownhosts, passenv, sshconf
from mpiboot.plan.layout import Place
from mpiboot.plan.sshconf import ServerTerms
from mpiboot.plan.startups import Startups
from mpiboot.runtime import files
from tests.helpers.keyfiles import make_key, public

SSHD = "/usr/sbin/sshd"
FEW = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,8}", fullmatch=True) | st.text(max_size=6)
# As os.environ has them: bytes that are no UTF-8 are lone surrogates.
VALUES = st.binary(max_size=40).map(os.fsdecode) | st.sampled_from(
    [
        'a"b',
        "a\\",
        '\\"',
        "# x",
        "a b\tc",
        "\x0b\x0c\x1c\x85",
        "\u2028x",
        "$HOME %h",
        "'",
        "\r",
        "\n",
        "",
    ]
)


@pytest.fixture(scope="module")
def host_key(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_key(tmp_path_factory.mktemp("key"), "host key")


@FEW
@given(st.dictionaries(NAMES, VALUES, max_size=5))
def test_sessions_get_the_variables_as_they_are(
    tmp_path: Path, host_key: Path, env: dict[str, str]
) -> None:
    """Those that are handed on arrive byte for byte, no value adds a word or a line, and sshd starts."""
    chosen, _ = passenv.session_environment(env, allow=["*"], deny=[])
    terms = ServerTerms(
        port=2222, user="mpi", host_keys=[str(host_key)], authorized_keys=f"{tmp_path}/a b",
        environment=chosen, bridge=["/bin/true"], log_level="VERBOSE", openssh=(9, 2),
        use_pam=False, strict_modes=True,
        startups=Startups(begin=10, full=20, per_source=10),
    )  # fmt: skip
    config = tmp_path / "sshd config"
    files.write(config, sshconf.sshd_config(terms))
    told = subprocess.run(
        [SSHD, "-T", "-f", str(config)], capture_output=True, timeout=20, check=False
    )
    assert told.returncode == 0, told.stderr
    lines = told.stdout.split(b"\n")
    # `sshd -T` itself replaces nothing in what it prints.
    given = {one[len(b"setenv ") :] for one in lines if one.startswith(b"setenv ")}
    wanted = {os.fsencode(f"{name}={value}") for name, value in {**chosen, "SHLVL": "1"}.items()}
    assert given == wanted
    assert b"permittty no" in lines
    assert b"permituserenvironment no" in lines


@FEW
@given(
    st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True),
    st.integers(1, 65535),
    st.sampled_from(["/a b/key", "/k\\ey", '/k"ey', "/k'ey", "/#key", "/ключ"]),
)
def test_ssh_reads_each_place_as_it_was_meant(
    tmp_path: Path, node: str, port: int, identity: str
) -> None:
    """`ssh -G` tells the address, the port and the key file that were written."""
    place = Place(name=node, node=node, slots=1, address="10.1.2.3", port=port, user="u", why="")
    text = sshconf.ssh_config(
        [replace(place)], user="mpi", port=22, identity=identity, known_hosts="/h h"
    )
    config = tmp_path / "config"
    files.write(config, text)
    told = subprocess.run(
        ["ssh", "-G", "-F", str(config), node], capture_output=True, timeout=20, check=True
    )
    lines = told.stdout.decode().split("\n")
    assert {"hostname 10.1.2.3", f"port {port}", "user u", f"identityfile {identity}"} <= set(lines)


@pytest.mark.parametrize("name", ["w1", "W1", "[w1]:2222", "*", "w?", "!w1,*", "w2", "w1,w2"])
@pytest.mark.parametrize("hashed", [False, True])
def test_known_hosts_mean_what_ssh_keygen_finds(tmp_path: Path, name: str, hashed: bool) -> None:
    """For each form of a line we believe a host where the real ssh-keygen finds it, too.

    We are stricter in one thing: `!w1` counts for w1 on any port.
    """
    key = make_key(tmp_path / "key")
    path = tmp_path / "known_hosts"
    path.write_text(f"{name} {public(key)}")
    if hashed and not set(name) & set("*?!"):
        subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(path)], capture_output=True, check=True)
    for asked, port in (("w1", 22), ("w1", 2222), ("w2", 22)):
        names = [asked] if port == 22 else [asked, f"[{asked}]:{port}"]
        found = any(_finds(path, one) for one in names)
        believed = bool(knownhosts.vouched(path.read_text(), asked, port))
        assert believed is found or (not believed and "!" in name), (asked, port)


def _finds(path: Path, name: str) -> bool:
    done = subprocess.run(
        ["ssh-keygen", "-F", name, "-f", str(path)], capture_output=True, check=False
    )
    return bool(done.stdout)
