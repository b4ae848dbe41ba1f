"""What has to be seen before a shim asks which role its container has: asking takes a Python's start.

Nobody has a role without one of these. The reverse does not hold: the platforms judge.
"""

from __future__ import annotations

from mpiboot.platforms import kubexec, operatorenv, sshfiles

# Set, and not empty. A pod's number alone is none: see `Identity.guessed`.
VARIABLES = (
    "MPIBOOT_ROLE", "MPIBOOT_HOSTS", "MPIBOOT_HOSTFILE", "MPIBOOT_HOST_SCRIPT", "MPIBOOT_PODS",
    "MPIBOOT_WORKERS", "MPIBOOT_CONFIG", "K_MPI_JOB_ROLE",
    *(name for one in operatorenv.IMPLEMENTATIONS for name in (*one.hostfiles, *one.agents)),
    "JOBSET_NAME", "LWS_LEADER_ADDRESS", "VC_TASK_INDEX", "VK_TASK_INDEX",
    "AWS_BATCH_JOB_NODE_INDEX", "SM_CURRENT_HOST", "SKYPILOT_NODE_RANK", "DSTACK_NODE_RANK",
    "AZ_BATCH_IS_CURRENT_NODE_MASTER",
)  # fmt: skip
# As a shell between double quotes reads them. A job's Secret is all that Trainer's nodes have.
FILES = (
    "/etc/mpiboot/config.yaml", operatorenv.HOSTFILE, kubexec.AGENT, "/etc/volcano",
    "/opt/ml/input/config/resourceconfig.json",
    *(f"{home}/{sshfiles.PUBLIC}" for home in sshfiles.homes({"HOME": "$HOME"})),
)  # fmt: skip
