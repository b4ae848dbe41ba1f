"""A long wait beside a sshd that bans pollers: in containers, for it takes OpenSSH 9.8 or later."""

from __future__ import annotations

import subprocess
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from bench.goal import OURS, THEIRS, Aim, Figures, Goal
from bench.moments import until
from bench.pods import Bench

_IMAGE = "mpiboot/openmpi5-test:dev"  # Debian 13; `make images`
_WAIT_S = 600
_SSHD = """\
HostKey /keys/host
AuthorizedKeysFile /keys/authorized_keys
StrictModes no
LogLevel VERBOSE
PermitRootLogin yes
"""
# What many images do before mpirun: connect, read the banner, close; ten times a second.
_POLLER = """
import socket, time
for number in range(100):
    with socket.socket() as one:
        one.settimeout(1)
        try:
            one.connect(("plain", 22))
            heard = one.recv(64)
        except OSError:
            heard = b""
    if not heard.startswith(b"SSH-"):
        break
    time.sleep(0.1)
print(number)
"""


def penalties(box: Bench) -> Figures:
    """Let a launcher wait for ten minutes, with a stock sshd ready and one host that never comes.

    The poller that stands beside it is banned for 15 s and more, from an address of its own.
    """
    _keys(box)
    with _network() as run:
        _docker(
            "run", "-d", *_at(run, "plain"), "-v", f"{box.directory}:/keys:ro",
            "--tmpfs", "/run/sshd", "--entrypoint", "/usr/sbin/sshd", _IMAGE,
            "-D", "-e", "-f", "/keys/sshd_config",
        )  # fmt: skip
        until(lambda: "Server listening" in _log(run, "plain"), "sshd listens")
        keys = ("-v", f"{box.directory}/user:/keys:ro")
        code = _docker(
            "run", *_at(run, "launcher"), *keys, _IMAGE, "launcher", "--key-dir", "/keys",
            "--hosts", "plain:1,absent.invalid:1", "--wait-timeout", str(_WAIT_S), "--", "true",
            check=False,
        )  # fmt: skip
        if code.returncode != 240:
            raise RuntimeError(f"the launcher ended with {code.returncode}: {code.stderr[-500:]}")
        log = _log(run, "plain")
        words = ("-c", _POLLER)
        polled = _docker("run", *_at(run, "poller"), "--entrypoint", "python3", _IMAGE, *words)
        banned = _log(run, "plain").removeprefix(log)
    return {
        OURS: _penalised(log),
        THEIRS: _penalised(banned),
        "logins": log.count("Accepted publickey"),
        "connections": log.count("Connection from"),
        "banners that the poller got": float(polled.stdout),
    }


def _penalised(log: str) -> int:
    return sum("penalty" in line.lower() for line in log.splitlines())


def _keys(box: Bench) -> None:
    place = box.directory / "user"
    place.mkdir()
    for path in (place / "id_ed25519", box.directory / "host"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)], check=True)
    public = (place / "id_ed25519.pub").read_text()
    (box.directory / "authorized_keys").write_text(public)
    host = " ".join((box.directory / "host.pub").read_text().split()[:2])
    (place / "known_hosts").write_text(f"plain {host}\n")
    (box.directory / "sshd_config").write_text(_SSHD)
    box.directory.chmod(0o755)


@contextmanager
def _network() -> Iterator[str]:
    """Make a network; it and its containers go with us."""
    run = f"mpiboot-bench-{uuid.uuid4().hex[:8]}"
    _docker("network", "create", run)
    try:
        yield run
    finally:
        names = _docker("ps", "-aq", "--filter", f"network={run}").stdout.split()
        if names:
            _docker("rm", "-f", *names)
        _docker("network", "rm", run)


def _at(run: str, name: str) -> tuple[str, ...]:
    return ("--name", f"{run}-{name}", "--network", run, "--network-alias", name)


def _log(run: str, name: str) -> str:
    done = _docker("logs", f"{run}-{name}")
    return done.stdout + done.stderr


def _docker(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=check)


GOALS: Mapping[str, Goal] = {
    "penalties": Goal(
        what="lines of a stock sshd about penalties, in ten minutes of a launcher's wait",
        beside="100 looks at the banner, ten a second",
        aims=(Aim(most=0), Aim(figure="logins", most=1), Aim(figure="connections", most=1)),
        run=penalties,
        unit="",
        apart=True,
    ),
}
