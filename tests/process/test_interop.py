"""mpiboot beside others: plain sshd workers, plain mpirun, and both kinds in one job."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from mpiboot.local.cluster import Bind
from tests.helpers.agents import Agent, Agents, program
from tests.helpers.keyfiles import make_key, make_key_directory, public
from tests.helpers.plainsshd import known_hosts, plain_sshd

RING = program("ring.py")
REAPING = ("bash", "-c", "sleep infinity & wait")  # plain mpirun leaves ssh processes to PID 1


def assert_ring(launcher: Agent, *hosts: str) -> None:
    assert launcher.wait() == 0
    expected = [f"OK {rank}/{len(hosts)} {host}" for rank, host in enumerate(hosts)]
    assert sorted(launcher.out.decode().splitlines()) == expected


def key_env(keys: Path) -> dict[str, str | None]:
    return {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_KEY_DIR": str(keys)}


def test_plain_workers_with_known_hosts(agents: Agents, tmp_path: Path) -> None:
    """Plain sshd workers whose host keys are given, by name, port or hash, are waited for and used."""
    keys = make_key_directory(tmp_path / "keys")
    hosts = {name: make_key(tmp_path / name) for name in ("w1", "w2", "w3")}
    ports = {"w1": 22, "w2": 2222, "w3": 22}
    workers = [
        plain_sshd(
            agents, name, host_key=host, authorized=[keys / "id_ed25519"], directory=tmp_path,
            port=ports[name],
        )
        for name, host in hosts.items()
    ]  # fmt: skip
    known = known_hosts(tmp_path, {"w1": hosts["w1"], "[w2]:2222": hosts["w2"]})
    subprocess.run(["ssh-keygen", "-q", "-H", "-f", str(known)], check=True, capture_output=True)
    with known.open("a") as file:
        file.write(f"# a pattern, and another key of the same type\n*,!w1 {public(hosts['w1'])}")
        file.write(f"w? {public(hosts['w3'])}")
    hostfile = tmp_path / "hostfile"
    hostfile.write_text("".join(f"{name} slots=1 port={port}\n" for name, port in ports.items()))
    options = ("--known-hosts", str(known), "--hostfile", str(hostfile))
    launcher = agents.launcher(*RING, hosts="", options=options, env=key_env(keys))
    assert_ring(launcher, *hosts)
    evidence = launcher.status["outcome"]["evidence"]
    assert "3 without a lease: no evidence of their own" in evidence
    assert [host["state"] for host in launcher.status["hosts"]] == ["ready (plain sshd)"] * 3
    agents.assert_global(stay=workers)


def test_plain_workers_of_the_mpi_operator(agents: Agents, tmp_path: Path) -> None:
    """Where the job's own ECDSA key is the sshd's host key too, no known_hosts is needed."""
    keys = make_key_directory(tmp_path / "keys", "id_rsa", kind="ecdsa-521-pem")
    key = keys / "id_rsa"
    workers = [
        plain_sshd(agents, name, host_key=key, authorized=[key], directory=tmp_path)
        for name in ("w1", "w2")
    ]
    launcher = agents.launcher(*RING, env=key_env(keys))
    assert_ring(launcher, "w1", "w2")
    agents.assert_global(stay=workers)


def test_plain_worker_that_nobody_vouches_for(agents: Agents, tmp_path: Path) -> None:
    """A plain sshd whose host key nobody gave is not trusted on first use."""
    keys, host = make_key_directory(tmp_path / "keys"), make_key(tmp_path / "host")
    worker = plain_sshd(
        agents, "w1", host_key=host, authorized=[keys / "id_ed25519"], directory=tmp_path
    )
    launcher = agents.launcher(*RING, options=("--strikes", "1"), env=key_env(keys))
    assert launcher.wait() == 240
    assert "w1: wrong host key" in launcher.log
    assert "--known-hosts" in launcher.log
    assert "Accepted" not in worker.log
    agents.assert_global(stay=[worker])


def test_plain_and_mpiboot_workers_in_one_job(agents: Agents, tmp_path: Path) -> None:
    """Both kinds of workers take part in one job; the agent leaves, the plain sshd stays."""
    keys, host = make_key_directory(tmp_path / "keys"), make_key(tmp_path / "host")
    plain = plain_sshd(
        agents, "w1", host_key=host, authorized=[keys / "id_ed25519"], directory=tmp_path
    )
    worker = agents.worker("w2", env=key_env(keys))
    options = ("--known-hosts", str(known_hosts(tmp_path, {"w1": host})))
    launcher = agents.launcher(*RING, options=options, env=key_env(keys))
    assert_ring(launcher, "w1", "w2")
    assert worker.wait() == 0
    agents.assert_global(stay=[plain])


def test_plain_mpirun_with_mpiboot_workers(agents: Agents, tmp_path: Path) -> None:
    """Plain mpirun works on mpiboot's workers; they leave with 0, a grace after its last job only."""
    keys = make_key_directory(tmp_path / "keys")
    grace_s = 1.0
    options = ("--retry-grace", str(grace_s))
    workers = agents.workers(2, *options, env=key_env(keys))
    for worker in workers:
        worker.until_ready()
    home = Bind(source=str(keys), target="/root/.ssh")
    client = agents.start("client", REAPING, binds=(home,))
    scan = "ssh-keyscan w1 w2 >/root/.ssh/known_hosts"
    assert client.pod.exec(["sh", "-c", scan]).returncode == 0
    mpirun = ["mpirun", "--allow-run-as-root", "--host", "w1,w2"]
    # Longer than the grace, and without an SSH session: its daemons have left theirs.
    assert client.pod.exec([*mpirun, "sleep", str(2 * grace_s)]).returncode == 0
    job = client.pod.exec([*mpirun, *RING])
    ended = time.monotonic()
    assert job.returncode == 0, job.stderr
    assert sorted(job.stdout.splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]
    assert [worker.wait() for worker in workers] == [0, 0]
    assert grace_s / 2 <= time.monotonic() - ended <= 30
    assert all("the last SSH session ended" in worker.log for worker in workers)
    agents.assert_global(stay=[client])
