"""Which of the launcher's variables ranks get, as rules with reasons; docs/environment.md shows them.

A variable that no rule knows stays: a pod is full of names that are true for this pod only, and a
wrong value on a rank does more harm than one that is missing and can be asked for.
"""

from __future__ import annotations

from mpiboot.model.record import dataclass


@dataclass(frozen=True, kw_only=True)
class Rule:
    """Names, as globs, that share a fate and the reason for it."""

    names: tuple[str, ...]
    reason: str


# Names that speak of a secret. They stay with the container they were given to, unless allowed.
SECRET_NAMES = (
    "*SECRET*", "*PASSWORD*", "*PASSWD*", "*PASSPHRASE*", "*TOKEN*", "*CREDENTIAL*", "*PRIVATE_KEY*",
    "*API_KEY*", "*APIKEY*", "*ACCESS_KEY*", "*_AUTH",
)  # fmt: skip

# Names with TOKEN in them that mean words of a text, and one that names a file of accounts.
NO_SECRETS = ("TOKENIZERS_*", "*TOKENIZER", "MAX_*TOKENS", "NSS_WRAPPER_PASSWD")

FROM_THE_CLUSTER = "the cluster gives it to each pod by itself"

ATTEMPT = "MPIBOOT_ATTEMPT"  # number of the attempt, from 1: a job may resume where it was
OURS = Rule(names=(ATTEMPT,), reason="the agent tells ranks by it which attempt they are")

STAY = (
    Rule(
        names=("MPIBOOT_*",),
        reason="the agent's own",
    ),
    Rule(
        names=("OMPI_*", "OPAL_*", "ORTE_*", "PRTE_*", "PMIX_*", "PMI_*", "PMI2_*", "HYDRA_*",
               "HYDI_*", "MPIEXEC_*", "I_MPI_HYDRA_*", "MPI_LOCAL*"),
        reason="mpirun reads it here, and tells ranks itself what they need of it",
    ),
    Rule(
        names=("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "NODE_RANK", "GROUP_RANK",
               "HOROVOD_RANK", "HOROVOD_SIZE", "HOROVOD_LOCAL_*", "HOROVOD_CROSS_*",
               "HOROVOD_HOSTNAME", "HOROVOD_GLOO_RENDEZVOUS_*", "TF_CONFIG", "TORCHELASTIC_*",
               "JOB_COMPLETION_INDEX", "VC_TASK_INDEX", "VK_TASK_INDEX", "SLURM_*", "PBS_*"),
        reason="tells one process its place in a job; each rank has another one",
    ),
    Rule(
        names=("HOSTNAME", "HOST", "HOST_IP", "POD_*", "NODE_NAME", "NODE_IP", "MY_POD_*",
               "MY_NODE_*", "K_MPI_JOB_ROLE"),
        reason="names the launcher's container; each worker has its own",
    ),
    Rule(
        names=("KUBERNETES_*", "*_SERVICE_HOST", "*_SERVICE_PORT", "*_SERVICE_PORT_*",
               "*_PORT_[0-9]*_TCP", "*_PORT_[0-9]*_TCP_*", "*_PORT_[0-9]*_UDP",
               "*_PORT_[0-9]*_UDP_*", "AWS_ROLE_ARN", "AZURE_CLIENT_ID", "AZURE_TENANT_ID"),
        reason=FROM_THE_CLUSTER,
    ),
    Rule(
        names=("HOME", "USER", "LOGNAME", "SHELL", "MAIL", "TERM", "PWD", "OLDPWD", "SHLVL", "_",
               "LS_COLORS", "TMPDIR", "TMP", "TEMP", "XDG_*", "SSH_*", "LISTEN_*", "NOTIFY_SOCKET"),
        reason="belongs to a session or a shell; each rank's session has its own",
    ),
    Rule(
        names=("NVIDIA_VISIBLE_DEVICES", "NVIDIA_DRIVER_CAPABILITIES", "CUDA_VISIBLE_DEVICES",
               "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
               "ZE_AFFINITY_MASK"),
        reason="devices of this container; a launcher without any would hide the workers'",
    ),
    Rule(
        names=("*_VERSION", "NV_*", "PYTHONHOME"),
        reason="says what is in this image; a worker's image says it of itself",
    ),
    Rule(
        names=("LANG", "LANGUAGE", "LC_*"),
        reason="a worker may lack this locale, and then warns of it in each session",
    ),
    Rule(
        names=("BASH_FUNC_*",),
        reason="a shell's function; ranks are not started by a shell",
    ),
)  # fmt: skip

TRAVEL = (
    Rule(
        names=("NCCL_*", "RCCL_*", "GLOO_*", "UCX_*", "FI_*", "TORCH_NCCL_*", "PSM2_*", "PSM3_*",
               "MLX5_*", "RDMAV_*"),
        reason="tunes how ranks talk, which they must do alike",
    ),
    Rule(
        names=("MPICH_*", "MPIR_*", "I_MPI_*"),
        reason="tunes MPI, and this MPI does not hand it on by itself",
    ),
    Rule(
        names=("HOROVOD_*",),
        reason="tunes Horovod, as horovodrun would hand it on",
    ),
    Rule(
        names=("OMP_*", "KMP_*", "GOMP_*", "MKL_*", "OPENBLAS_*", "GOTO_NUM_THREADS", "BLIS_*",
               "NUMEXPR_*", "NUMBA_*"),
        reason="threads of a rank",
    ),
    Rule(
        names=("TF_*", "XLA_*", "JAX_*", "KERAS_*", "TORCH_*", "PYTORCH_*", "TRITON_*", "MXNET_*",
               "DS_*", "ACCELERATE_*", "HF_*", "TRANSFORMERS_*", "TOKENIZERS_*"),
        reason="a setting of the framework that ranks run",
    ),
    Rule(
        names=("CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_ORDER", "CUDA_DEVICE_MAX_CONNECTIONS",
               "CUDA_MODULE_LOADING", "CUDA_CACHE_*", "CUDA_ENABLE_*", "CUBLAS_*", "CUDNN_*",
               "NVIDIA_TF32_OVERRIDE", "HSA_*", "MIOPEN_*"),
        reason="how a rank uses its GPU",
    ),
    Rule(
        names=("PYTHON[A-Z]*",),
        reason="how a rank's Python runs and where it finds modules",
    ),
    Rule(
        names=("MASTER_ADDR", "MASTER_PORT"),
        reason="where torch.distributed meets, the same for all ranks",
    ),
    Rule(
        names=("WANDB_*", "MLFLOW_*", "COMET_*", "NEPTUNE_*", "CLEARML_*"),
        reason="where the experiment is recorded",
    ),
    Rule(
        names=("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL*", "S3_ENDPOINT*",
               "S3_USE_HTTPS", "S3_VERIFY_SSL"),
        reason="where the data are",
    ),
)  # fmt: skip

SEARCH_PATHS = ("PATH", "LD_LIBRARY_PATH")


def markdown() -> str:
    """Lay the rules out as the table of docs/environment.md, in the order in which they count."""
    path = "unless a worker's agent tells of another one: that is right for the worker's own files"
    rows = [
        ("`-x NAME`, `-x NAME=VALUE`", "travels", "yours"),
        ("`--rank-env-deny`", "stays", "yours"),
        ("`--rank-env-allow`, a name without wildcard", "travels", "yours"),
        (_listed(OURS.names), "travels", OURS.reason),
        *((_listed(rule.names), "stays", rule.reason) for rule in STAY),
        ("`NAME_PORT` with `tcp://…`", "stays", FROM_THE_CLUSTER),
        (_listed(SECRET_NAMES), "stays", "its name speaks of a secret"),
        ("`--rank-env-allow`, a glob", "travels", "yours"),
        (_listed(SEARCH_PATHS), "travels", path),
        *((_listed(rule.names), "travels", rule.reason) for rule in TRAVEL),
        ("all others", "stay", "not known as a setting of the job: ask for it with `-x NAME`"),
    ]
    lines = ["| variables | | why |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| {a} | {b} | {c} |" for a, b, c in rows)]) + "\n"


def _listed(names: tuple[str, ...]) -> str:
    return " ".join(f"`{name}`" for name in names)
