"""The fault matrix as data: what goes wrong, and how the job must end then."""

from __future__ import annotations

from tests.helpers.cells import Cell

STACKS = ("openmpi4", "openmpi5", "mpich")
INFRASTRUCTURE, USER, SIGNAL, NONE = "infrastructure", "user", "signal", "none"
# The only directory of a container that is small; it becomes full.
SMALL = "/small"
GONE = {"w2": (0,)}
BOTH_LEAVE = {"w1": (0,), "w2": (0,)}
BOTH_ALONE = {"w1": (245,), "w2": (245,)}


def _small(*names: str) -> dict[str, tuple[str, ...]]:
    return dict.fromkeys(names, ("--tmpfs", f"{SMALL}:size=1m"))


LOST = r"w1 was lost: "
FULL = r"No space left on device|disk (is )?full"
STAY = {"w1": ("--retry-grace", "8"), "w2": ("--retry-grace", "8")}
ON_SMALL = ("--runtime-dir", f"{SMALL}/run")

# Open MPI 5 says 0 now and then when a worker is lost: 243 is what the contract has for that.
WORKER_LOST = (241, 243)

MATRIX: tuple[Cell, ...] = (
    Cell(
        name="worker-killed", title="worker killed (`docker kill`)", how="kill",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says=LOST + "its container is gone", within_s=20, workers=GONE,
    ),
    Cell(
        name="worker-paused", title="worker paused, and let go on after the launcher's end",
        how="pause", code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says=LOST + "silent .* frozen",
        workers={"w1": (245,), "w2": (0,)}, isolated=("w1",), options=STAY,
    ),
    Cell(
        name="worker-paused-defaults", title="worker paused, default heartbeats", how="pause",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says=LOST + "silent .* frozen", within_s=45, quick=False,
        workers={"w1": (245,), "w2": (0,)}, isolated=("w1",), options=STAY,
    ),
    Cell(
        name="worker-cut", title="worker cut off the network", how="cut",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says=LOST + "unreachable",
        workers={"w1": (245,), "w2": (0,)}, isolated=("w1",), options=STAY,
    ),
    Cell(
        name="launcher-cut", title="launcher cut off the network", how="cut", on="launcher",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1", "w2"), says="was lost: unreachable: this container itself has no network",
        workers=BOTH_ALONE, isolated=("w1", "w2"), options=STAY,
    ),
    Cell(
        name="launcher-killed", title="launcher killed -9", how="kill", on="launcher",
        code=(137,), fault=INFRASTRUCTURE, says="launcher was lost", reporter="w1",
        workers=BOTH_ALONE, isolated=("w1", "w2"), options=STAY,
    ),
    Cell(
        name="daemon-killed", title="MPI daemon killed -9 on a worker", how="kill-daemon",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says=LOST + "its MPI daemon died", workers=BOTH_LEAVE,
    ),
    Cell(
        name="rank-killed", title="rank killed -9", how="kill-rank",
        code=(137,), fault=USER, hosts=("w1",), rank=0, says=r"rank 0 on w1 was killed by SIGKILL",
        workers=BOTH_LEAVE,
    ),
    Cell(
        name="rank-oom", title="rank beyond its container's memory", how="fault", job=("oom",),
        code=(137,), fault=USER, hosts=("w1",), rank=0,
        says=r"rank 0 on w1 was OOM-killed \(limit 400 MiB\)",
        workers=BOTH_LEAVE, docker={"w1": ("--memory", "400m", "--memory-swap", "400m")},
    ),
    Cell(
        name="rank-exits", title="rank exits 3", how="fault", on="w2", job=("exit", "3"),
        code=(3,), fault=USER, hosts=("w2",), rank=1, says="rank 1 on w2 ended with 3",
        workers=BOTH_LEAVE,
    ),
    Cell(
        name="rank-aborts", title="rank calls MPI_Abort(5)", how="fault", on="w2",
        job=("abort", "5"), code=(5,), fault=USER, hosts=("w2",), rank=1,
        says=r"rank 1 on w2 called MPI_Abort\(5\)", workers=BOTH_LEAVE,
    ),
    Cell(
        name="rank-raises", title="rank raises while another waits for it", how="fault", on="w2",
        job=("raise",), code=(1,), fault=USER, hosts=("w2",), rank=1, says="rank 1 on w2",
        also="ValueError: this rank has had enough", workers=BOTH_LEAVE,
    ),
    Cell(
        name="listener-killed", title="sshd's listener killed on a worker; the job goes on",
        how="kill-listener", code=(0,), fault=NONE, within_s=30, workers=BOTH_LEAVE,
    ),
    Cell(
        name="sshd-killed", title="all sshd processes killed on a worker", how="kill-sshd",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says=LOST + "its (SSH session|sshd)",
        workers={"w1": (0, 245), "w2": (0,)}, options=STAY,
    ),
    Cell(
        name="agent-killed", title="agent (PID 1) killed -9 on a worker", how="kill-agent",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says=LOST + "its container is gone", within_s=20,
        workers={"w1": (137,), "w2": (0,)},
    ),
    Cell(
        name="disk-full-launcher", title="launcher's disk full from the start", how="nothing",
        on="launcher", when="", code=(78,), fault="configuration", says=FULL,
        full=("launcher",), docker=_small("launcher"), options={"launcher": ON_SMALL},
    ),
    Cell(
        name="disk-fills-launcher", title="launcher's disk full during the job; the job goes on",
        how="fill", on="launcher", code=(0,), fault=NONE, workers=BOTH_LEAVE, also=FULL,
        docker=_small("launcher"),
        options={"launcher": (*ON_SMALL, "--log-file", f"{SMALL}/log", "--output-dir", f"{SMALL}/out")},
    ),
    Cell(
        name="disk-full-worker", title="worker's disk full from the start", how="nothing",
        when="", code=(240,), fault=INFRASTRUCTURE, says=r"w1", workers={"w1": (78,), "w2": (246,)},
        full=("w1",), docker=_small("w1"),
        options={"w1": ON_SMALL, "launcher": ("--wait-timeout", "8")},
    ),
    Cell(
        name="disk-fills-worker", title="worker's disk full during the job; the job goes on",
        how="fill", code=(0,), fault=NONE, workers=BOTH_LEAVE,
        docker=_small("w1"), options={"w1": ON_SMALL},
    ),
    Cell(
        name="term-waiting", title="TERM to the launcher while it waits", how="term",
        on="launcher", when="waiting", code=(143,), fault=SIGNAL, says="SIGTERM while waiting",
        hosts_given="w1:1,w2:1,nobody:1", within_s=10, workers={"w1": (246,), "w2": (246,)},
    ),
    Cell(
        name="term-launching", title="TERM to the launcher while it launches", how="term",
        on="launcher", when="launching", code=(143,), fault=SIGNAL, says="SIGTERM while launching",
        within_s=10, workers={"w1": (246,), "w2": (246,)},
        options={"launcher": ("--mpirun", "/programs/slow_mpirun.sh")},
    ),
    Cell(
        name="term-running", title="TERM to the launcher while the job runs", how="term",
        on="launcher", code=(143,), fault=SIGNAL, says="SIGTERM while the job ran",
        workers=BOTH_LEAVE,
    ),
    Cell(
        name="term-ending", title="TERM to the launcher while it ends; the success stands",
        how="term-ending", on="launcher", code=(0,), fault=NONE, workers=BOTH_LEAVE, quick=False,
    ),
    Cell(
        name="term-twice", title="two TERMs to the launcher, ranks that ignore them",
        how="term-twice", on="launcher", job=("stubborn",), code=(143,), fault=SIGNAL,
        says="SIGTERM while the job ran", within_s=12, workers=BOTH_LEAVE,
    ),
    Cell(
        name="term-worker", title="TERM to a worker while the job runs", how="term",
        code=WORKER_LOST, fault=INFRASTRUCTURE, hosts=("w1",), says="w1", within_s=30,
        workers={"w1": (143,), "w2": (0,)},
    ),
)  # fmt: skip

THIN = (
    "worker-killed", "worker-paused", "launcher-killed", "daemon-killed", "rank-killed",
    "rank-aborts", "term-running",
)  # fmt: skip
BY_NAME = {cell.name: cell for cell in MATRIX}
