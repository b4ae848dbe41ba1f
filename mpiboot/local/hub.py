"""Own the bridge that joins the pods: a network namespace held by a descriptor, nothing else.

There is no hub process and no name under /run/netns: the namespace lives as long as the owner of
the descriptor or a pod that is plugged in, so it cannot be left behind.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence

from mpiboot.errors import ConfigError, LaunchFailedError

# Bits of CapEff in /proc/self/status, from <linux/capability.h>.
_CAPABILITIES = {"CAP_NET_ADMIN": 12, "CAP_SYS_ADMIN": 21, "CAP_MKNOD": 27}
_TOOLS = {"ip": "iproute2", "nsenter": "util-linux", "unshare": "util-linux"}
_HINT = "run it as root (in a container: a privileged one), or use docker compose instead"


def tool_environment() -> dict[str, str]:
    """Return our environment with the sbin directories on PATH: `ip` lives there."""
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{path}:/usr/sbin:/sbin"}


def require_means(status: str | None = None) -> None:
    """Check that this process may make namespaces and that the tools exist.

    Args:
        status: text of /proc/self/status; read when not given.

    Raises:
        ConfigError: in one line, what is missing and what to do.
    """
    if status is None:
        with open("/proc/self/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            status = file.read()
    fields = dict(line.partition(":")[::2] for line in status.splitlines())
    effective = int(fields["CapEff"], 16)
    missing = [name for name, bit in _CAPABILITIES.items() if not effective >> bit & 1]
    if missing:
        text = f"`mpiboot local` makes namespaces, which needs root; missing: {', '.join(missing)}"
        raise ConfigError(text, hint=_HINT)
    path = tool_environment()["PATH"]
    absent = [tool for tool in _TOOLS if shutil.which(tool, path=path) is None]
    if absent:
        packages = " ".join(sorted({_TOOLS[tool] for tool in absent}))
        raise ConfigError(
            f"`mpiboot local` needs {', '.join(absent)}", hint=f"apt-get install {packages}"
        )


class Hub:
    """A network namespace with nothing in it but the bridge `hub`."""

    def __init__(self) -> None:
        self.fd = _new_namespace()
        try:
            self.ip("link", "add", "hub", "up", "type", "bridge")
        except BaseException:
            self.close()
            raise

    def ip(self, *arguments: str) -> None:
        """Run `ip` inside the hub.

        Raises:
            LaunchFailedError: with what `ip` said.
        """
        enter = ["nsenter", f"--net=/proc/self/fd/{self.fd}"]
        done = _run([*enter, "ip", *arguments], pass_fds=(self.fd,))
        if done.returncode:
            said = (done.stdout + done.stderr).decode(errors="replace").strip()
            raise LaunchFailedError(f"ip {' '.join(arguments)}: {said}")

    def close(self) -> None:
        """Let go of the namespace; idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1


def _run(argv: Sequence[str], pass_fds: Sequence[int]) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        argv, env=tool_environment(), pass_fds=pass_fds, capture_output=True, check=False
    )


def _new_namespace() -> int:
    """Make a network namespace and return a descriptor of it.

    `cat` answers only after `unshare` is done, and holds the namespace until we hold it.
    """
    argv = ["unshare", "--net", "cat"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        argv, env=tool_environment(), stdin=pipe, stdout=pipe, stderr=pipe, bufsize=0
    ) as holder:
        assert holder.stdin and holder.stdout and holder.stderr  # noqa: S101, PT018 - all are PIPE
        holder.stdin.write(b"\n")
        if holder.stdout.read(1) != b"\n":
            said = holder.stderr.read().decode(errors="replace").strip()
            raise LaunchFailedError(f"cannot make a network namespace: {said}", hint=_HINT)
        return os.open(f"/proc/{holder.pid}/ns/net", os.O_RDONLY)
