"""Start-up: workers that are late, wrong, gone or too many; the wait that is bounded and tells."""

from __future__ import annotations

import datetime as dt
import os
import re
import signal
import time
from pathlib import Path

from mpiboot.local.cluster import Bind
from tests.helpers.agents import MPIBOOT, PYTHON, Agent, Agents, program
from tests.helpers.eventually import eventually
from tests.helpers.keyfiles import make_key, make_key_directory
from tests.helpers.plainsshd import known_hosts, plain_sshd

RING = program("ring.py")
NOT_READY, NEVER_USED, KILLED = 240, 246, 128 + signal.SIGKILL
FOREVER = ("sleep", "infinity")
# `sh` becomes the agent when it gets a line: the pod is there, its sshd is not yet.
LATE = ("sh", "-c", 'read -r _ && exec "$@"', "late", *MPIBOOT, "worker")


def now() -> dt.datetime:
    return dt.datetime.now(tz=dt.timezone.utc)


def begun(agent: Agent, stage: str) -> dt.datetime:
    """Tell when a stage began; it must have begun once."""
    times = [step["since"] for step in agent.status["stages"] if step["stage"] == stage]
    assert len(times) == 1
    return dt.datetime.fromisoformat(times[0].replace("Z", "+00:00"))


def seconds_since(start: float) -> float:
    return time.monotonic() - start


def ring_lines(launcher: Agent) -> list[str]:
    return sorted(launcher.out.decode().splitlines())


def metric(agent: Agent, name: str, **labels: str) -> float:
    """Read one sample of an agent's metrics, 0 when there is none."""
    read = "import urllib.request as r; print(r.urlopen('http://127.0.0.1:9650/metrics').read().decode())"
    text = agent.pod.exec([PYTHON, "-c", read]).stdout
    shown = ",".join(f'{key}="{value}"' for key, value in labels.items())
    found = re.search(rf"^{name}\{{{shown}\}} (\S+)$", text, re.MULTILINE)
    return float(found[1]) if found else 0.0


def released(launcher: Agent, worker: Agent) -> None:
    """Assert that a healthy worker has left with the code of a job that never started."""
    assert launcher.wait() == NOT_READY
    assert worker.wait() == NEVER_USED
    assert "the job never started" in worker.log


def test_boot_01_a_late_sshd_is_waited_for(agents: Agents) -> None:
    """A worker whose sshd comes seconds later costs seconds; mpirun starts once; the wait is calm."""
    agents.worker("w1")
    read, write = os.pipe()
    with os.fdopen(write, "w") as gate:
        secret = {"MPIBOOT_SECRET": agents.secret_path.read_text()}
        agents.start("w2", LATE, stdin=read, env=secret)
        os.close(read)
        start = time.monotonic()
        launcher = agents.launcher(*RING)
        launcher.until_logged("w2: connection refused")
        late_s = seconds_since(start)
        assert launcher.pod.poll() is None
        gate.write("go\n")
    assert launcher.wait() == 0
    assert late_s <= seconds_since(start) <= late_s + 15
    assert ring_lines(launcher) == ["OK 0/2 w1", "OK 1/2 w2"]
    begun(launcher, "running")
    waits = re.findall(r".*waiting for.*", launcher.log)
    assert 1 <= len(waits) <= 1 + late_s / 5
    assert "ready 1/2 after 5 s; waiting for w2: connection refused" in waits[0]
    agents.assert_global()


def test_boot_02_a_late_name_is_waited_for(agents: Agents) -> None:
    """A name that does not resolve yet is told apart from a refusal, and is asked for again."""
    agents.worker("w1")
    agents.worker("w2", listed=False)
    launcher = agents.launcher(*RING, hosts="w1:1,w2:1")
    launcher.until_logged("w2: name does not resolve")
    listed = now()
    agents.cluster.list_pod("w2")
    assert launcher.wait() == 0
    assert begun(launcher, "running") > listed
    assert ring_lines(launcher) == ["OK 0/2 w1", "OK 1/2 w2"]
    assert "refused" not in launcher.log
    agents.assert_global()


def test_boot_03_the_wait_ends_at_its_deadline_with_a_table(agents: Agents) -> None:
    """At the deadline: 240, one line per host with its last error and seconds; the healthy leave."""
    healthy = agents.worker("w1")
    stay = [agents.start(name, FOREVER) for name in ("w2", "w3")]
    stay[1].pod.cut()
    start = time.monotonic()
    hosts = "w1:1,w2:1,w3:1,w4:1"
    launcher = agents.launcher(*RING, hosts=hosts, options=("--wait-timeout", "3"))
    assert launcher.wait() == NOT_READY
    assert 3 <= seconds_since(start) <= 3 + 5
    last = launcher.log.splitlines()[-5:]
    assert "1 of 4 workers ready after 3 s" in last[0]
    rows = [re.split(r"\s{2,}", line)[1:] for line in last[1:]]
    assert [row[0] for row in rows] == ["w1", "w2", "w3", "w4"]
    assert [row[2].split(" (")[0] for row in rows] == [
        "ready", "connection refused", "no answer", "name does not resolve",
    ]  # fmt: skip
    assert [row[1] for row in rows[1:]] == ["3.0 s"] * 3
    assert float(rows[0][1].removesuffix(" s")) < 3
    released(launcher, healthy)
    assert launcher.out == b""
    agents.assert_global(stay=stay)


def test_boot_03_status_and_termination_message_say_what_was_missing(
    agents: Agents, tmp_path: Path
) -> None:
    """The reports of a wait that failed name who should act and which host was missing."""
    message = tmp_path / "termination"
    message.touch()
    options = ("--wait-timeout", "0.5", "--termination-log", str(message))
    launcher = agents.launcher(*RING, hosts="w4:1", options=options)
    assert launcher.wait() == NOT_READY
    outcome = launcher.status["outcome"]
    assert (outcome["code"], outcome["fault"], outcome["ran"]) == (
        NOT_READY,
        "infrastructure",
        False,
    )
    assert launcher.status["hosts"][0]["state"] == "name does not resolve"
    assert '"code":240' in message.read_text()
    assert "w4" in message.read_text()
    agents.assert_global()


def test_boot_04_a_refused_key_ends_the_wait_early(agents: Agents, tmp_path: Path) -> None:
    """A worker that refuses the job's key is named as such, long before the deadline of 300 s."""
    job = make_key_directory(tmp_path / "job")
    strange, host_key = make_key(tmp_path / "strange"), make_key(tmp_path / "host")
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_KEY_DIR": str(job)}
    healthy = agents.worker("w1", env=env)
    w2 = plain_sshd(agents, "w2", host_key=host_key, authorized=[strange], directory=tmp_path)
    options = (
        "--wait-timeout",
        "300",
        "--known-hosts",
        str(known_hosts(tmp_path, {"w2": host_key})),
    )
    start = time.monotonic()
    launcher = agents.launcher(*RING, options=options, env=env)
    released(launcher, healthy)
    assert seconds_since(start) <= 60
    assert "w2: key refused (user root" in launcher.log
    assert "the same secret or key directory" in launcher.log
    assert "timeout" not in launcher.log
    agents.assert_global(stay=[w2])


def test_boot_04_a_user_whom_the_worker_refuses_is_named(agents: Agents) -> None:
    """A login as another user than the agent's is a refused key, with the user's name."""
    worker = agents.worker("w1")
    launcher = agents.launcher(*RING, options=("--ssh-user", "nobody", "--strikes", "1"))
    assert launcher.wait() == NOT_READY
    assert "w1: key refused (user nobody" in launcher.log
    assert "User nobody from" in worker.log
    worker.pod.send(signal.SIGTERM)
    assert worker.wait() == 128 + signal.SIGTERM
    agents.assert_global()


def test_boot_04_a_wrong_host_key_ends_the_wait_early(agents: Agents) -> None:
    """A worker with another secret shows another host key; it is named and never logged in to."""
    healthy = agents.worker("w1")
    other = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": "another secret of this test"}
    strange = agents.worker("w2", env=other)
    start = time.monotonic()
    launcher = agents.launcher(*RING, options=("--wait-timeout", "300"))
    released(launcher, healthy)
    assert seconds_since(start) <= 60
    assert re.search(r"w2: wrong host key \(it shows ssh-ed25519 SHA256:\S+\)", launcher.log)
    assert "the same secret" in launcher.log
    assert "key refused" not in launcher.log
    strange.pod.send(signal.SIGTERM)
    assert strange.wait() == 128 + signal.SIGTERM
    assert "launcher" not in strange.log
    agents.assert_global()


def test_boot_04_strikes_0_waits_on(agents: Agents) -> None:
    """Keys may be mounted late: with --strikes 0 a permanent fault lasts until the deadline."""
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": "another secret of this test"}
    former = agents.worker("w1", env=env)
    launcher = agents.launcher(*RING, options=("--strikes", "0", "--log-level", "debug"))
    launcher.until_logged("w1: wrong host key")
    former.pod.kill()
    assert former.wait() == KILLED
    agents.worker("w1")
    assert launcher.wait() == 0
    agents.assert_global()


def test_boot_04_strikes_0_ends_at_the_deadline(agents: Agents) -> None:
    """Without strikes the deadline alone ends the wait, and still says what was wrong."""
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_SECRET": "another secret of this test"}
    worker = agents.worker("w1", env=env)
    start = time.monotonic()
    launcher = agents.launcher(*RING, options=("--strikes", "0", "--wait-timeout", "4.5"))
    assert launcher.wait() == NOT_READY
    assert seconds_since(start) >= 4.5
    assert "0 of 1 worker ready" in launcher.log
    assert "wrong host key" in launcher.log
    worker.pod.send(signal.SIGTERM)
    agents.assert_global()


def test_boot_04_a_login_that_runs_no_command_is_told_as_such(
    agents: Agents, tmp_path: Path
) -> None:
    """An account whose shell is nologin takes the key but runs nothing: login broken, not ready."""
    job, host_key = make_key_directory(tmp_path / "job"), make_key(tmp_path / "host")
    entries = Path("/etc/passwd").read_text().splitlines()
    passwd = tmp_path / "passwd"
    passwd.write_text("\n".join(["root:x:0:0:root:/root:/usr/sbin/nologin", *entries[1:]]) + "\n")
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_KEY_DIR": str(job)}
    healthy = agents.worker("w1", env=env)
    healthy.until_ready()  # one strike: a launcher that is quicker would never tell it of the end
    w2 = plain_sshd(
        agents, "w2", host_key=host_key, authorized=[job / "id_ed25519"], directory=tmp_path,
        binds=(Bind(source=str(passwd), target="/etc/passwd"),),
    )  # fmt: skip
    options = ("--strikes", "1", "--known-hosts", str(known_hosts(tmp_path, {"w2": host_key})))
    launcher = agents.launcher(*RING, options=options, env=env)
    released(launcher, healthy)
    assert re.search(r"w2: login broken \(.*not available", launcher.log)
    assert "check the user's shell" in launcher.log
    agents.assert_global(stay=[w2])


def test_a_port_that_accepts_and_stays_silent_is_no_answer(agents: Agents) -> None:
    """Something that takes the connection and says nothing is told as such, and is not permanent."""
    hold = "import socket, time; s = socket.create_server(('', 22)); time.sleep(1e6)"
    silent = agents.start("w1", (PYTHON, "-c", hold))
    start = time.monotonic()
    options = ("--attempt-timeout", "0.5", "--wait-timeout", "2", "--strikes", "1")
    launcher = agents.launcher(*RING, options=options)
    assert launcher.wait() == NOT_READY
    assert 2 <= seconds_since(start) <= 2 + 5
    assert re.search(r"w1 +\S+ s  no answer \(it accepts, but", launcher.log)
    agents.assert_global(stay=[silent])


def test_boot_07_sixty_logins_at_once(agents: Agents, tmp_path: Path) -> None:
    """No login of a burst is dropped: 60 of 60 work at the same time."""
    keys = make_key_directory(tmp_path / "keys")
    env = {"MPIBOOT_SECRET_FILE": None, "MPIBOOT_KEY_DIR": str(keys)}
    worker = agents.worker("w1", env=env)
    worker.until_ready()
    client = agents.start("client", FOREVER, env={"N": "60", "KEY": str(keys / "id_ed25519")})
    burst = """
        ssh-keyscan w1 >/run/known 2>/dev/null
        for n in $(seq $N); do
            ssh -F none -i $KEY -o BatchMode=yes -o UserKnownHostsFile=/run/known w1 true &
            all="$all $!"
        done
        for one in $all; do wait $one && echo worked; done
    """
    done = client.pod.exec(["sh", "-c", burst], timeout_s=60)
    assert done.stdout.split() == ["worked"] * 60, done.stderr
    config = worker.pod.exec(["/usr/sbin/sshd", "-T", "-f", "/run/mpiboot/worker/sshd_config"])
    first = re.search(r"^maxstartups (\d+):", config.stdout, re.MULTILINE)
    assert first is not None
    assert int(first[1]) >= 100
    assert "throttling" not in worker.log
    worker.pod.send(signal.SIGTERM)
    agents.assert_global(stay=[client])


def test_an_unplugged_worker_is_no_answer_and_may_come_back(agents: Agents) -> None:
    """No route is told apart from a refusal, and is not permanent."""
    agents.worker("w1")
    w2 = agents.worker("w2")
    w2.until_ready()
    w2.pod.cut()
    launcher = agents.launcher(*RING, options=("--log-level", "debug"))
    launcher.until_logged("w2: no answer")
    assert "refused" not in launcher.log
    w2.pod.join()
    assert launcher.wait() == 0
    assert ring_lines(launcher) == ["OK 0/2 w1", "OK 1/2 w2"]
    agents.assert_global()


def test_a_worker_that_goes_away_during_the_wait_is_reached_anew(agents: Agents) -> None:
    """A worker that was ready and dies while others are awaited is waited for again."""
    former = agents.worker("w1")
    options = ("--log-level", "debug")
    launcher = agents.launcher(*RING, hosts="w1:1,w2:1", options=options)
    launcher.until_logged("w1: ready after")  # the launcher's own view: the worker's comes earlier
    former.pod.kill()
    assert former.wait() == KILLED
    launcher.until_logged("w1 went away again")
    agents.workers(2)
    assert launcher.wait() == 0
    assert ring_lines(launcher) == ["OK 0/2 w1", "OK 1/2 w2"]
    agents.assert_global()


def test_dns_name_with_a_count(agents: Agents) -> None:
    """The addresses of one name are the workers, as many as were told, whenever they appear."""
    agents.worker("a", aliases=("worker",))
    options = ("--workers", "3", "--slots", "1")
    launcher = agents.launcher(*RING, hosts="dns:worker", options=options)
    agents.worker("b", aliases=("worker",))
    agents.worker("c", aliases=("worker",))
    assert launcher.wait() == 0
    # In the order of their addresses, so that ranks land alike in every run.
    order = sorted(agents.all, key=lambda one: one.pod.address)
    names = [one.name for one in order if one is not launcher]
    assert ring_lines(launcher) == [f"OK {rank}/3 {name}" for rank, name in enumerate(names)]
    agents.assert_global()


def test_dns_name_without_a_count_settles(agents: Agents) -> None:
    """Without a count, all addresses take part that the name keeps for the time to settle."""
    for name in ("a", "b"):
        agents.worker(name, aliases=("worker",))
    start = time.monotonic()
    options = ("--settle", "1.5", "--slots", "1")
    launcher = agents.launcher(*RING, hosts="dns:worker", options=options)
    assert launcher.wait() == 0
    assert seconds_since(start) >= 1.5
    assert ring_lines(launcher) == ["OK 0/2 a", "OK 1/2 b"]
    agents.assert_global()


def test_dns_name_with_a_left_over_address(agents: Agents) -> None:
    """More addresses than wanted: one that does not answer is left out, the job runs."""
    silent = agents.start("old", FOREVER, aliases=("worker",))
    silent.pod.cut()
    refusing = agents.start("older", FOREVER, aliases=("worker",))
    for name in ("a", "b"):
        agents.worker(name, aliases=("worker",))
    options = ("--workers", "2", "--slots", "1")
    launcher = agents.launcher(*RING, hosts="dns:worker", options=options)
    assert launcher.wait() == 0
    assert ring_lines(launcher) == ["OK 0/2 a", "OK 1/2 b"]
    agents.assert_global(stay=[silent, refusing])


def test_dns_name_with_more_workers_than_wanted(agents: Agents) -> None:
    """Workers beyond the count run nothing, and are released with the others."""
    for name in ("a", "b", "c"):
        agents.worker(name, aliases=("worker",)).until_ready()
    options = ("--workers", "1", "--slots", "1")
    launcher = agents.launcher(*RING, hosts="dns:worker", options=options)
    assert launcher.wait() == 0
    assert re.fullmatch(r"OK 0/1 [abc]\n", launcher.out.decode())
    agents.assert_global()


def test_dns_name_that_stumbles_costs_no_worker(agents: Agents) -> None:
    """While the resolver knows nothing for a moment, workers that were found are kept."""
    first = agents.worker("a", aliases=("worker",))
    options = ("--workers", "2", "--slots", "1", "--log-level", "debug")
    launcher = agents.launcher(*RING, hosts="dns:worker", options=options)
    first.until_logged("launcher launcher is here")
    agents.cluster.unlist_pod("a")

    def failures() -> None:
        assert metric(launcher, "mpiboot_probe_failures_total", kind="no_name") >= 1

    eventually(failures)
    agents.cluster.list_pod("a")
    agents.worker("b", aliases=("worker",))
    assert launcher.wait() == 0
    assert ring_lines(launcher) == ["OK 0/2 a", "OK 1/2 b"]
    assert first.log.count("is here") == 1
    agents.assert_global()


def test_dns_name_that_never_appears(agents: Agents) -> None:
    """A name that never resolves is named at the deadline."""
    options = ("--workers", "2", "--wait-timeout", "1")
    launcher = agents.launcher(*RING, hosts="dns:nobody", options=options)
    assert launcher.wait() == NOT_READY
    assert "nobody: name does not resolve" in launcher.log
    agents.assert_global()
