"""What is found out about a container, in a real one."""

from __future__ import annotations

import asyncio
import os
import platform
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from mpiboot.local.cluster import Cluster, PodSpec
from mpiboot.model.facts import Facts, Network
from mpiboot.roles import describing
from mpiboot.runtime.children import Children
from mpiboot.runtime.signals import SignalPump
from tests.helpers.inspecting import seen_in
from tests.helpers.networks import extra_network

# A seccomp filter as container engines install them: one system call has another outcome.
FILTERED = """
import ctypes, struct, sys
call, outcome = int(sys.argv[1]), int(sys.argv[2], 16)
code = b"".join(struct.pack("HBBI", *step) for step in [
    (0x20, 0, 0, 0),          # load the number of the call
    (0x15, 0, 1, call),       # is it this one?
    (0x06, 0, 0, outcome),
    (0x06, 0, 0, 0x7fff0000), # allow all others
])
class Program(ctypes.Structure):
    _fields_ = [("size", ctypes.c_ushort), ("code", ctypes.c_char_p)]
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(4, code)), 0, 0) == 0
from mpiboot.runtime import siblings
print(siblings.may_read())
"""
PROCESS_VM_READV = {"x86_64": 310, "aarch64": 270}
OUTCOMES = {"allowed": "7fff0000", "EPERM": "00050001", "ENOSYS": "00050026", "killed": "80000000"}


def test_networks_of_a_pod(cluster: Cluster) -> None:
    """Each address of an interface that is up is told with its prefix; link-local ones are not."""
    pod = cluster.start(PodSpec(name="w1", argv=("sleep", "60")))
    extra_network(pod, "cni0", "10.99.0.1/16")
    extra_network(pod, "cni1", "fd00:99::1/64")
    extra_network(pod, "off0", "10.98.0.1/16", up=False)
    extra_network(pod, "ll0", "169.254.3.4/16")
    listed = pod.exec(["ip", "-o", "link"]).stdout
    index = {name: int(number) for number, name in re.findall(r"(?m)^(\d+): (\w+)", listed)}
    assert set(seen_in(pod).networks) == {
        Network(name="eth0", cidr=f"{pod.address}/16", index=index["eth0"]),
        Network(name="cni0", cidr="10.99.0.1/16", index=index["cni0"]),
        Network(name="cni1", cidr="fd00:99::1/64", index=index["cni1"]),
    }


@pytest.mark.parametrize("outcome", OUTCOMES)
def test_net_06_memory_of_a_sibling(outcome: str) -> None:
    """Where seccomp forbids process_vm_readv this is found out, however it does so."""
    call = PROCESS_VM_READV.get(platform.machine())
    if call is None:
        pytest.skip("the number of the call is not known for this machine")
    argv = [sys.executable, "-c", FILTERED, str(call), OUTCOMES[outcome]]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout == f"{outcome == 'allowed'}\n"


def described(env: Mapping[str, str]) -> Facts:
    """Describe this machine as an agent with that environment does."""

    async def work() -> Facts:
        children = Children()
        pump = SignalPump(lambda _number: None, children.reap)
        pump.start()
        try:
            return await describing.describe(children, env, session_env=env, link="/run/x")
        finally:
            pump.stop()

    return asyncio.run(work())


def linked(directory: Path, target: str) -> str:
    """Make a directory whose mpirun is a link to a program, and return a PATH that begins there."""
    if not Path(target).exists():
        pytest.skip(f"{target} is not on this machine")
    (directory / "mpirun").symlink_to(target)
    return f"{directory}:/usr/bin:/bin"


@pytest.mark.parametrize(
    ("target", "name", "daemon"),
    [
        ("/usr/bin/orterun", "Open MPI 4.", "/usr/bin/orted"),
        ("/usr/bin/mpiexec.hydra", "MPICH ", "/usr/bin/hydra_pmi_proxy"),
    ],
)
def test_mpi_05_the_mpi_with_its_daemon(
    tmp_path: Path, target: str, name: str, daemon: str
) -> None:
    """Name and version, where mpirun really is, and the daemon of that MPI, not of another one."""
    facts = described({"PATH": linked(tmp_path, target)})
    assert facts.mpi.startswith(name)
    assert facts.mpi[len(name)].isdigit()
    assert (facts.mpi_path, facts.daemon) == (os.path.realpath(target), daemon)
    assert (facts.link, facts.cpus > 0) == ("/run/x", True)


def test_mpi_05_no_mpi_and_a_broken_one(tmp_path: Path) -> None:
    """Without an mpirun, or with one that cannot run, the rest is told all the same."""
    facts = described({"PATH": str(tmp_path)})
    assert (facts.mpi, facts.mpi_path, facts.daemon) == ("", "", "")
    broken = tmp_path / "mpirun"
    broken.write_text("neither script nor program")
    broken.chmod(0o755)
    facts = described({"PATH": str(tmp_path)})
    assert (facts.mpi, facts.mpi_path, facts.daemon) == ("", str(broken), "")
    assert facts.cpus > 0
