"""The launch plan is what `mpiboot plan` prints: files, words, reasons."""

from __future__ import annotations

import pytest

from mpiboot.errors import ConfigError
from mpiboot.model.facts import Facts
from mpiboot.model.hosts import Host
from mpiboot.model.settings import Settings
from mpiboot.mpi import openmpi4
from mpiboot.plan import launch, layout
from mpiboot.plan.gather import Reach, Seen
from mpiboot.plan.ground import Ground
from mpiboot.plan.launchplan import LaunchPlan

GROUND = {
    "mpirun": "mpirun",
    "version": "4.1.4",
    "mpi": "Open MPI 4.1.4",
    "hostname": "launcher",
    "user": "root",
    "as_root": True,
    "directory": "/run/mpiboot/launcher",
    "identity": "/run/mpiboot/launcher/user_key",
    "host_keys": ("ssh-ed25519 AAAA",),
    "known_hosts": "",
    "port": 22,
    "own_address": "10.0.0.9",
    "facts": Facts(),
    "link": "/run/mpiboot/launcher/agent.sock",
    "standin": ("python3", "standin.py"),
    "no_stdin": True,
    "nonce": "0123456789abcdef",
    "site_params": {},
    "environ": {"PATH": "/usr/bin"},
}

GOLDEN = """\
note   Open MPI 4 (4.1.4), 3 ranks on 2 workers
note   w1: 2 slots (given with the host)
note   my_w2: 1 slot (1.5 CPUs by quota and cpuset), called 10.0.0.2
note   PATH is not handed on: a worker's sessions have their own (force it with -x PATH)
note   network: no host is on more than one network; not known of the launcher, w1, my_w2: no \
agent tells its networks
note   not known of w1: no agent tells which MPI is there
note   FOO: yours, but not set here
note   ranks are started without a wrapper: the launcher does not tell where its mpiboot is
write  /run/mpiboot/launcher/hostfile  # 2 workers, 3 slots
       | w1 slots=2
       | 10.0.0.2 slots=1
"""

EXEC = """\
exec
       mpirun  # the MPI found here
       --allow-run-as-root  # runs as root in a container
       --hostfile /run/mpiboot/launcher/hostfile  # the workers with their slots
       -np 3  # ranks to start
"""


def plan(**changes: object) -> LaunchPlan:
    facts = Facts(
        cpus=1.5, path="/opt/bin:/usr/bin", mpi="Open MPI 4.1.4", mpi_path="/usr/bin/orterun",
        daemon="/usr/bin/orted",
    )  # fmt: skip
    seen = [
        Seen(host=Host(name="w1", slots=2), reach=Reach.PLAIN, address="10.0.0.1"),
        Seen(host=Host(name="my_w2"), reach=Reach.READY, address="10.0.0.2", facts=facts),
    ]
    ground = Ground(**{**GROUND, **changes})  # type: ignore[arg-type]
    arranged = layout.arrange(seen, own_hostname=ground.hostname, slots="auto", np=0)
    return launch.prepare(
        Settings(export=("FOO",)), ["python3", "a b.py"], openmpi4, ground,
        layout=arranged, facts=[one.facts for one in seen],
    )  # fmt: skip


def test_the_text_of_a_plan() -> None:
    """Line by line, with the reason of each; words are quoted as a shell would need them."""
    text = plan().text()
    assert text.startswith(GOLDEN)
    assert EXEC in text
    assert text.endswith("       -- python3 'a b.py'  # the job\n")
    assert "       | * ssh-ed25519 AAAA\n" in text
    assert "-x PATH  #" not in text


def test_argv_is_a_list_from_first_to_last() -> None:
    """Words are never joined and split again."""
    assert plan().argv[-3:] == ["--", "python3", "a b.py"]


def test_addresses_are_no_dotted_names() -> None:
    """Only names that have dots need full names kept."""
    assert "orte_keep_fqdn_hostnames" not in plan().argv


def test_res_08_open_files_cost_this_mpirun_time() -> None:
    """Its own limit is what it needs, and the plan says why; one that is low is left alone."""
    wide, low = plan(facts=Facts(nofile=1 << 20)), plan(facts=Facts(nofile=1024))
    assert (wide.open_files, low.open_files) == (1024, None)
    why = "mpirun may open 1024 files: it closes each number for each worker"
    assert (why in wide.notes, why in low.notes) == (True, False)


def test_a_hostname_that_this_mpi_cannot_bear() -> None:
    """78 before mpirun's own riddle, with the hostname and the remedy."""
    with pytest.raises(ConfigError, match=r"'my_l'.*--hostname"):
        plan(hostname="my_l")
