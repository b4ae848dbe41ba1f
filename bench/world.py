"""The world that peers' waits act on: `python -m bench.world PEER KEY HOST …` runs one in a pod.

Prints the wall-clock time at which it would start mpirun, or `gave up`; then the CPU seconds that
it and its children took. Wireup's registration comes from the worker: see `bench.waiting`.
"""

from __future__ import annotations

import os
import resource
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from bench.peers import PEERS, GaveUp


class Real:
    """Names, ports and sshds as they are."""

    def __init__(self, key: str) -> None:
        self._key = key

    def now(self) -> float:
        return time.monotonic()

    def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def resolves(self, host: str) -> bool:
        try:
            socket.getaddrinfo(host, 22, type=socket.SOCK_STREAM)
        except OSError:
            return False
        return True

    def nslookup(self, host: str) -> bool:
        """Ask with getent: pods here have no name server, and it costs less than nslookup."""
        return self._ran("getent", "hosts", host)

    def banner(self, host: str, timeout_s: float) -> bool:
        try:
            with socket.create_connection((host, 22), timeout_s) as connection:
                return bool(connection.recv(1))
        except OSError:
            return False

    def login(self, host: str) -> bool:
        import paramiko  # noqa: PLC0415 - no other wait needs it

        client = paramiko.SSHClient()
        client.set_missing_host_key_policy(paramiko.AutoAddPolicy())  # noqa: S507 - as they do
        try:
            client.connect(host, username="root", key_filename=self._key, look_for_keys=False)
        except (OSError, EOFError, paramiko.SSHException):
            return False
        finally:
            client.close()
        return True

    def ssh(self, host: str, timeout_s: float = 0) -> bool:
        limit = ("-o", f"ConnectTimeout={timeout_s:g}") if timeout_s else ()
        return self._ran(
            "ssh", "-n", "-i", self._key, "-o", "StrictHostKeyChecking=no", "-o", "LogLevel=QUIET",
            "-o", "UserKnownHostsFile=/dev/null", "-o", "BatchMode=yes", *limit, host, "true",
        )  # fmt: skip

    def at_once(self, one: Callable[[str], bool], hosts: Sequence[str]) -> list[bool]:
        with ThreadPoolExecutor(max_workers=max(1, len(hosts))) as pool:
            return list(pool.map(one, hosts))

    def _ran(self, *argv: str) -> bool:
        quiet = subprocess.DEVNULL
        return subprocess.run(argv, check=False, stdout=quiet, stderr=quiet).returncode == 0


def main() -> int:
    """Run one wait; its interpreter and libraries are loaded before it begins."""
    name, key, *hosts = sys.argv[1:]
    if "paramiko" in name or "sagemaker" in name:
        import paramiko  # noqa: F401, PLC0415 - see above
    begun = time.monotonic()
    try:
        PEERS[name](hosts, Real(key))
        said = f"{time.time():.6f}"  # noqa: TID251 - compared with others' wall clock
    except GaveUp:
        said = "gave up"
    took = time.monotonic() - begun
    own, theirs = (
        resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    )
    cpu = own.ru_utime + own.ru_stime + theirs.ru_utime + theirs.ru_stime
    print(f"{said}\n{took:.6f}\n{cpu:.6f}")
    sys.stdout.flush()
    os._exit(0)  # threads of paramiko's need not be waited for


if __name__ == "__main__":
    sys.exit(main())
