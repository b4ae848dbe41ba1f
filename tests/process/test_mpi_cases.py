"""What goes wrong between launchers, MPIs and hosts, each with its remedy or one clear line."""

from __future__ import annotations

import base64
import json
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from mpiboot.local.cluster import Bind
from tests.helpers.agents import MPIBOOT, PYTHON, Agents, program
from tests.helpers.mpis import MPIS, OPENMPI4, Mpi
from tests.process.test_every_mpi import launch

OPENMPI5, MPICH, INTELMPI = MPIS[1:]
OPENMPIS = (OPENMPI4, OPENMPI5)
# What Kubeflow's operator sets for Open MPI: half of it means nothing to version 5.
OPERATOR = {
    "OMPI_MCA_orte_keep_fqdn_hostnames": "true",
    "OMPI_MCA_orte_default_hostfile": "/etc/mpi/hostfile",
    "OMPI_MCA_plm_rsh_args": "-o ConnectionAttempts=10",
    "OMPI_MCA_orte_set_default_slots": "1",
    "OMPI_MCA_plm_rsh_agent": "ssh",
}


@pytest.mark.parametrize("mpi", OPENMPIS, ids=str)
def test_mpi_01_variables_of_the_operator(agents: Agents, mpi: Mpi) -> None:
    """The job runs on the workers, although the operator's variables say something else or nothing."""
    mpi.need()
    agents.workers(2, **mpi.pod)
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"), env=OPERATOR)
    assert launcher.wait() == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]


def test_mpi_03_a_program_of_another_mpi_is_refused(agents: Agents) -> None:
    """Open MPI's mpi4py under MPICH would be rank 0 of 1 on each host, with code 0: 78 instead."""
    MPICH.need()
    agents.workers(2, **MPICH.pod)
    launcher = launch(agents, MPICH, *program("ring.py"))
    assert launcher.wait() == 78
    assert launcher.out == b""
    assert re.search(r"another MPI \(Open MPI v4.*than mpirun \(MPICH 5", launcher.log)
    agents.assert_global()


def test_mpi_03_it_is_seen_at_run_time_too(agents: Agents) -> None:
    """What the launcher cannot know beforehand, the ranks' wrappers see in the running program."""
    MPICH.need()
    agents.workers(2, **MPICH.pod)
    code = "from mpi4py import MPI; import time; time.sleep(20); print(MPI.COMM_WORLD.size)"
    launcher = launch(agents, MPICH, "sh", "-c", f'{PYTHON} -c "$0"; true', code)
    assert launcher.wait() == 78
    assert "libmpi.so.40" in launcher.log.splitlines()[-1]
    agents.assert_global()


@pytest.mark.parametrize("missing", ["mpirun", "ssh"])
def test_mpi_05_a_missing_program_is_named_at_once(
    agents: Agents, tmp_path: Path, missing: str
) -> None:
    """No mpirun or no ssh client: 78 within seconds, with the program and what to install."""
    made, kept = tmp_path / "bin", "/run/bin-of-the-machine"
    made.mkdir()
    for entry in Path("/usr/bin").iterdir():
        if not entry.name.startswith((missing, "mpiexec", "orte")):
            (made / entry.name).symlink_to(f"{kept}/{entry.name}")
    binds = (Bind(source="/usr/bin", target=kept), Bind(source=str(made), target="/usr/bin"))
    launcher = agents.launcher("true", hosts="w1:1", binds=binds)
    assert launcher.wait(5) == 78
    assert missing in launcher.log.splitlines()[-1]
    assert "install" in launcher.log


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_mpi_07_nobody_knows_the_launchers_name(agents: Agents, mpi: Mpi) -> None:
    """Daemons call back to an address: the launcher's name need not resolve on any worker."""
    mpi.need()
    agents.workers(2, **mpi.pod)
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"), listed=False)
    assert launcher.wait() == 0
    agents.assert_global()
    assert len(launcher.out.splitlines()) == 2


@pytest.mark.parametrize(
    ("mpi", "options", "env"),
    [
        (OPENMPI4, ("--mca", "routed_radix", "1"), {}),
        (OPENMPI5, ("--mca", "rml_base_radix", "1"), {}),
        (INTELMPI, (), {"I_MPI_HYDRA_BRANCH_COUNT": "16"}),
    ],
    ids=lambda value: str(value) if isinstance(value, Mpi) else "",
)
def test_boot_09_workers_never_log_in_to_each_other(
    agents: Agents, mpi: Mpi, options: tuple[str, ...], env: dict[str, str]
) -> None:
    """Where the tree would begin at the second host, the launcher still does all logins itself."""
    mpi.need()
    agents.workers(4, **mpi.pod)
    launcher = launch(
        agents, mpi, "hostname", hosts="w1:1,w2:1,w3:1,w4:1", options=options, env=env
    )
    assert launcher.wait(60) == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().split()) == ["w1", "w2", "w3", "w4"]


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_boot_11_the_way_back_is_blocked(agents: Agents, mpi: Mpi) -> None:
    """All MPIs hang in silence; mpiboot ends it in time, and names the hosts and the cause."""
    mpi.need()
    if shutil.which("iptables") is None:
        pytest.skip("no iptables on this machine: apt-get install iptables")
    workers = agents.workers(2, **mpi.pod)
    for worker in workers:
        worker.until_ready()
    rules = (
        "iptables -A INPUT -i lo -j ACCEPT; "
        "iptables -A INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT; "
        "iptables -A INPUT -j DROP; "
    )
    launcher = launch(
        agents, mpi, *mpi.python_program("ring.py"), options=("--start-timeout", "4"),
        entry=rules,
    )  # fmt: skip
    assert launcher.wait(40) == 242
    last = launcher.log.splitlines()[-1]
    assert "w1, w2" in last
    assert re.search(r"w[12] cannot connect to this container \(no answer from 10\.", last)
    agents.assert_global()


@pytest.mark.parametrize("what", ["fail", "warn"])
def test_net_03_only_the_port_of_ssh(agents: Agents, what: str) -> None:
    """Ranks that cannot reach each other hang in silence: the pair is named, with what to allow."""
    if shutil.which("iptables") is None:
        pytest.skip("no iptables on this machine: apt-get install iptables")
    rules = (
        "iptables -A INPUT -i lo -j ACCEPT; "
        "iptables -A INPUT -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT; "
        "iptables -A INPUT -p tcp --dport 22 -j ACCEPT; "
        "iptables -A INPUT -j DROP; "
    )
    agents.workers(2, agent=("sh", "-c", f'{rules} exec "$@"', "sh", *MPIBOOT))
    begun = time.monotonic()
    launcher = launch(agents, OPENMPI4, *program("ring.py"), env={"MPIBOOT_PORT_CHECK": what})
    said = "w1 does not reach w2, while the port of ssh is open: no answer from 10."
    launcher.until_logged(said)
    if what == "warn":
        launcher.pod.send(signal.SIGTERM)
    assert launcher.wait() == (242 if what == "fail" else 143)
    assert time.monotonic() - begun < 30
    assert (f"error: exit 242: {said}" in launcher.log) is (what == "fail")
    agents.assert_global()


def test_boot_11_a_daemon_that_never_comes(agents: Agents) -> None:
    """A login that works and starts no daemon: 242 in time, with the host."""
    agents.workers(2)
    launcher = launch(
        agents, OPENMPI4, "true",
        options=("--start-timeout", "3", "--mca", "orte_launch_agent", "true"),
    )  # fmt: skip
    assert launcher.wait(30) == 242
    assert "w1, w2" in launcher.log.splitlines()[-1]
    agents.assert_global()


@pytest.mark.parametrize("mpi", [MPICH, INTELMPI], ids=str)
def test_fail_07_a_login_that_hangs(agents: Agents, mpi: Mpi, tmp_path: Path) -> None:
    """Hydra does not watch its logins: one that never ends is the launcher's to notice."""
    mpi.need()
    script = tmp_path / "ssh"
    script.write_text(
        '#!/bin/sh\nfor word; do test "$word" != w2 || exec sleep 1000; done\nexec ssh "$@"\n'
    )
    script.chmod(0o755)
    agents.workers(2, **mpi.pod)
    env = {"HYDRA_LAUNCHER_EXEC": str(script), "I_MPI_HYDRA_BOOTSTRAP_EXEC": str(script)}
    launcher = launch(agents, mpi, "true", options=("--start-timeout", "4"), env=env)
    assert launcher.wait(30) == 242
    assert "w2" in launcher.log.splitlines()[-1]
    agents.assert_global()


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_name_08_an_answer_that_is_loopback(agents: Agents, mpi: Mpi) -> None:
    """A name that resolves to ::1 or 127.0.1.1 first is reached at its real address."""
    mpi.need()
    agents.workers(2, **mpi.pod)
    spoil = "sed -i '1i ::1 w1\\n127.0.1.1 launcher' /etc/hosts; "
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"), entry=spoil)
    assert launcher.wait() == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_name_02_full_names_only(agents: Agents, mpi: Mpi) -> None:
    """Workers that only their full names reach."""
    mpi.need()
    names = [f"pi-worker-{n}.pi.default.svc" for n in (0, 1)]
    for number, name in enumerate(names):
        agents.worker(f"pod-{number}", aliases=(name,), **mpi.pod)
    hosts = ",".join(f"{name}:1" for name in names)
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"), hosts=hosts)
    assert launcher.wait() == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 pod-0", "OK 1/2 pod-1"]


def unshared_script(number: int) -> str:
    """Give a pod a second network which leads nowhere, as a CNI's bridge."""
    return (
        "ip link add cni0 type veth peer name cni0-p; ip link set cni0-p up; ip link set cni0 up; "
        f"ip address add 10.99.0.{number}/16 dev cni0; "
    )


def unshared(number: int, interface: str = "") -> tuple[str, ...]:
    """Start a worker in a pod that has such a network."""
    rename = (
        f"ip link set eth0 down; ip link set eth0 name {interface}; ip link set {interface} up; "
    )
    script = f"{unshared_script(number)}{rename if interface else ''}"
    return ("sh", "-c", f'{script} exec "$@"', "sh", *MPIBOOT)


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_net_01_networks_that_are_not_shared(agents: Agents, mpi: Mpi) -> None:
    """Each worker is on a second network that leads nowhere; the shared one is found and logged."""
    mpi.need()
    for number in (1, 2):
        agents.worker(f"w{number}", agent=unshared(number), **mpi.pod)
    launcher = launch(agents, mpi, *mpi.python_program("ring.py"))
    assert launcher.wait(30) == 0
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]
    assert re.search(r"network 10\.77\.0\.0/\d+ .*the hosts reach each other on it", launcher.log)


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_net_05_interfaces_that_are_called_differently(
    agents: Agents, mpi: Mpi, tmp_path: Path
) -> None:
    """Each rank's variables name the interface of its own host that is on the job's network."""
    mpi.need()
    agents.worker("w1", agent=unshared(1), **mpi.pod)
    agents.worker("w2", agent=unshared(2, "net1"), **mpi.pod)
    launcher = launch(agents, mpi, *mpi.python_program("showenv.py", str(tmp_path)))
    assert launcher.wait(30) == 0
    agents.assert_global()
    for host, interface in (("w1", "eth0"), ("w2", "net1")):
        found = json.loads((tmp_path / host).read_text())
        for name in ("NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME", "HOROVOD_GLOO_IFACE"):
            assert base64.b64decode(found[name]).decode().lstrip("=") == interface


# A node's kernel counts the interfaces that it has ever made, and a pod's keep their numbers.
LATE_INTERFACE = (
    "cidr=$(ip -o -4 address show eth0 | awk '{print $4}'); ip link set eth0 down; "
    "ip address flush dev eth0; ip link set eth0 name up0; ip link add br0 type bridge; "
    "ip link add eth0 index 40001 type veth peer name eth0-p; "
    "for one in up0 eth0-p; do ip link set $one master br0; done; "
    "for one in up0 eth0-p br0 eth0; do ip link set $one up; done; ip address add $cidr dev eth0; "
)


@pytest.mark.parametrize(
    "chosen", [(), ("--interface", "eth0"), ("--interface", "10.77.0.0/16")], ids=str
)
@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_net_01_interfaces_of_a_node_that_has_made_many(
    agents: Agents, mpi: Mpi, chosen: tuple[str, ...]
) -> None:
    """Open MPI 5 keeps an interface's index in 16 bits, and then finds none of what it is told."""
    mpi.need()
    agent = ("sh", "-c", f'{unshared_script(1)} {LATE_INTERFACE} exec "$@"', "sh", *MPIBOOT)
    for number in (1, 2):
        agents.worker(f"w{number}", agent=agent, **mpi.pod)
    launcher = launch(
        agents, mpi, *mpi.python_program("ring.py"), options=chosen,
        entry=LATE_INTERFACE,
    )  # fmt: skip
    assert launcher.wait(30) == 0, launcher.log
    agents.assert_global()
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]


def test_net_01_the_users_interface_wins(agents: Agents) -> None:
    """A network that a host does not have is refused, with what it has; one that all have is used."""
    for number in (1, 2):
        agents.worker(f"w{number}", agent=unshared(number))
    refused = launch(agents, OPENMPI4, "true", options=("--interface", "ib0"), name="refused")
    assert refused.wait() == 78
    assert re.search(r"no interface ib0; it has .*eth0 10\.77", refused.log)
    agents.assert_global()


def test_unlike_mpis_are_refused(agents: Agents) -> None:
    """A worker with another MPI, or another major of it, ends the launch with 78 and the table."""
    OPENMPI5.need()
    agents.worker("w1")
    agents.worker("w2", **OPENMPI5.pod)
    launcher = agents.launcher("true", hosts="w1:1,w2:1")
    assert launcher.wait() == 78
    assert "launcher and workers have different MPIs" in launcher.log
    assert re.search(r"w2 +Open MPI 5\.0\.11 +/", launcher.log)
    agents.assert_global()


def test_unlike_paths_are_told_where_the_prefix_decides(agents: Agents) -> None:
    """An mpirun that is called by its path starts that path's daemon: another PATH is told only."""
    MPICH.need()
    agents.worker("w1", **MPICH.pod)
    agents.worker("w2")
    launcher = launch(agents, MPICH, *MPICH.python_program("ring.py"))
    assert launcher.wait() == 0
    assert "w2 has Open MPI 4" in launcher.log
    agents.assert_global()
