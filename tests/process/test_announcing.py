"""Nodes that know their launcher announce themselves over SSH; the launcher need not know them."""

from __future__ import annotations

import subprocess
import sys

from tests.helpers.agents import Agent, Agents, program
from tests.helpers.eventually import eventually

RING = program("ring.py")
# Ranks that all fail alike with 7, once they have met.
FAILS = ("sh", "-c", "sleep 1; exit 7")
ONE_SLOT = ("--slots", "1")
QUICK = ("--heartbeat", "0.5", "--lease-timeout", "3")


def batch(index: int, main: Agent | None = None, count: int = 3) -> dict[str, str]:
    """Give the environment of a node of AWS Batch; children know the main node's address."""
    env = {
        "AWS_BATCH_JOB_MAIN_NODE_INDEX": "0",
        "AWS_BATCH_JOB_NODE_INDEX": str(index),
        "AWS_BATCH_JOB_NUM_NODES": str(count),
        "MPIBOOT_SLOTS": "1",
    }
    if main is not None:
        env["AWS_BATCH_JOB_MAIN_NODE_PRIVATE_IPV4_ADDRESS"] = main.pod.address
    return env


def child(agents: Agents, name: str, index: int, *options: str, to: str = "main") -> Agent:
    """Start a worker that announces itself."""
    return agents.worker(name, "--announce-to", to, "--announce-index", str(index), *options)


def main_node(
    agents: Agents, *job: str, hosts: str = "announce:3:0", options: tuple[str, ...] = ()
) -> Agent:
    """Start the launcher that hears announcements."""
    return agents.launcher(*job, hosts=hosts, name="main", options=(*ONE_SLOT, *options))


def ranks(launcher: Agent) -> list[str]:
    return sorted(launcher.out.decode().splitlines())


def test_aws_batch_runs_a_job_on_all_nodes(agents: Agents) -> None:
    """One command on all nodes: the main node finds all, runs ranks too, and all leave with 0."""
    command = ["--", *RING]
    main = agents.mpiboot("main", command, env=batch(0))
    for index in (2, 1):
        agents.mpiboot(f"n{index}", command, env=batch(index, main))
    assert main.wait(60) == 0
    assert ranks(main) == ["OK 0/3 main", "OK 1/3 n1", "OK 2/3 n2"]
    agents.assert_global()
    assert agents.codes() == {"main": 0, "n1": 0, "n2": 0}


def test_aws_batch_tells_the_jobs_own_code(agents: Agents) -> None:
    """Batch judges by the main node's code; children have done their duty, and leave with 0."""
    command = ["--", *FAILS]
    main = agents.mpiboot("main", command, env=batch(0))
    for index in (1, 2):
        agents.mpiboot(f"n{index}", command, env=batch(index, main))
    assert main.wait(60) == 7
    agents.assert_global()
    assert agents.codes() == {"main": 7, "n1": 0, "n2": 0}


def test_aws_batch_main_node_that_dies(agents: Agents) -> None:
    """Batch would stop the children; where it is slow, they end their ranks and leave with 245."""
    quick = {"MPIBOOT_HEARTBEAT": "0.5", "MPIBOOT_LEASE_TIMEOUT": "3"}
    command = ["--", "sleep", "300"]
    main = agents.mpiboot("main", command, env=batch(0) | quick)
    children = [
        agents.mpiboot(f"n{index}", command, env=batch(index, main) | quick) for index in (1, 2)
    ]
    main.until_stage("running", 60)
    main.pod.kill()
    assert [node.wait(30) for node in children] == [245, 245]
    agents.assert_global()


def test_aws_batch_one_node(agents: Agents) -> None:
    """A job of one node waits for nobody, and needs no sshd."""
    main = agents.mpiboot("main", ["--", *RING], env=batch(0, count=1))
    assert main.wait(30) == 0
    assert ranks(main) == ["OK 0/1 main"]
    assert "announce" not in main.log
    agents.assert_global()


def test_nodes_that_come_before_their_launcher(agents: Agents) -> None:
    """Nodes go on until the launcher is there; it calls them back in the order of their numbers."""
    first = child(agents, "n2", 2)
    child(agents, "n1", 1)
    first.until_logged("announcing this node to main port 22")
    first.until_logged("announcement: ")
    main = main_node(agents, *RING)
    assert main.wait(60) == 0
    assert ranks(main) == ["OK 0/3 main", "OK 1/3 n1", "OK 2/3 n2"]
    agents.assert_global()


def test_a_launcher_that_runs_no_ranks(agents: Agents) -> None:
    """`announce:N` without a number of its own: N others do all the work."""
    main = main_node(agents, *RING, hosts="announce:2")
    child(agents, "n1", 1)
    child(agents, "n0", 0)
    assert main.wait(60) == 0
    assert ranks(main) == ["OK 0/2 n0", "OK 1/2 n1"]
    agents.assert_global()


def test_nodes_without_numbers(agents: Agents) -> None:
    """Their place is that of their address."""
    main = main_node(agents, *RING, hosts="announce:2")
    for name in ("a", "b"):
        agents.worker(name, "--announce-to", "main")
    assert main.wait(60) == 0
    assert ranks(main) == ["OK 0/2 a", "OK 1/2 b"]
    agents.assert_global()


def test_a_node_that_never_comes_is_named(agents: Agents) -> None:
    """240 at the deadline, with the number of who is missing; those who came leave with 246."""
    main = main_node(agents, *RING, hosts="announce:4:0", options=("--wait-timeout", "6"))
    here = child(agents, "n2", 2)
    assert main.wait(30) == 240
    assert "nodes 1, 3 have not announced themselves" in main.log
    assert here.wait(30) == 246
    agents.assert_global()


def test_a_node_with_another_secret(agents: Agents) -> None:
    """It is not let in, and says why; the job goes on without any harm from it."""
    main = main_node(agents, *RING, hosts="announce:1")
    other = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": "f" * 32}
    stranger = agents.mpiboot(
        "stranger", ["worker", "--announce-to", "main", "--first-contact", "5"], env=other
    )
    stranger.until_logged("Host key verification failed")
    child(agents, "n0", 0)
    assert main.wait(60) == 0
    assert ranks(main) == ["OK 0/1 n0"]
    assert stranger.wait(30) == 246
    agents.assert_global()


def test_two_nodes_with_one_number(agents: Agents) -> None:
    """The one that is held stays, the other one is refused and told why."""
    main = main_node(agents, *RING, hosts="announce:3:0")
    child(agents, "n1", 1)
    eventually(lambda: _assert_logged(main, "ready 2/3"), 30)
    double = child(agents, "double", 1, "--first-contact", "5")
    double.until_logged("refused: node 1 is at ")
    assert double.wait(30) == 246
    child(agents, "n2", 2)
    assert main.wait(60) == 0
    assert ranks(main) == ["OK 0/3 main", "OK 1/3 n1", "OK 2/3 n2"]
    agents.assert_global()


def _assert_logged(agent: Agent, text: str) -> None:
    assert text in agent.log


def test_a_job_that_is_started_again_needs_no_new_announcements(agents: Agents) -> None:
    """The nodes are known; the second attempt calls them back at once."""
    main = main_node(agents, *FAILS, options=("--max-restarts", "1"))
    for index in (1, 2):
        child(agents, f"n{index}", index)
    assert main.wait(90) == 7
    assert main.status["attempts"][-1]["number"] == 2
    agents.assert_global()
    assert agents.codes() == {"main": 7, "n1": 0, "n2": 0}


def test_a_new_launcher_hears_of_all_again(agents: Agents) -> None:
    """Nodes whose launcher is gone announce themselves anew, to whoever has its name now."""
    first = main_node(agents, "sleep", "300", options=QUICK)
    nodes = [child(agents, f"n{index}", index, *QUICK) for index in (1, 2)]
    first.until_stage("running", 60)
    agents.cluster.unlist_pod("main")
    first.pod.kill()
    for node in nodes:
        node.until_logged("is lost", 30)
    words = ["launcher", "--hosts", "announce:3:0", *ONE_SLOT, "--", *RING]
    again = agents.mpiboot("again", words, aliases=("main",))
    assert again.wait(90) == 0
    assert ranks(again) == ["OK 0/3 again", "OK 1/3 n1", "OK 2/3 n2"]
    agents.assert_global()


def test_a_host_script_that_needs_time(agents: Agents) -> None:
    """What a program prints is read as a hostfile, as soon as it prints something."""
    agents.worker("n0")
    script = "sh -c 'test -f /tmp/asked && echo n0 slots=1; touch /tmp/asked'"
    launcher = agents.launcher(*RING, hosts="", options=("--host-script", script))
    assert launcher.wait(60) == 0
    assert ranks(launcher) == ["OK 0/1 n0"]
    agents.assert_global()


def test_a_host_script_that_prints_nonsense(agents: Agents) -> None:
    """78 at once, with the line; a program that is not there is 78, too."""
    for script, told in (("echo a b=c", "line 1 'a b=c'"), ("/no/such", "does not exist")):
        launcher = agents.launcher(*RING, hosts="", options=("--host-script", script))
        assert launcher.wait(30) == 78
        assert f"--host-script {script}" in launcher.log
        assert told in launcher.log
    agents.assert_global()


def test_announcing_keeps_no_ssh_library_in_memory() -> None:
    """A worker that announces itself idles as small as others."""
    script = (
        "import sys, mpiboot.roles.announcing;"
        "print(*(m for m in ('paramiko', 'cryptography', 'psutil', 'yaml') if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", script], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.strip() == ""
