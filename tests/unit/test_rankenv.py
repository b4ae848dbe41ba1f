"""Which variables reach ranks: the job's settings do, what is this container's own does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.model.facts import Facts
from mpiboot.plan import passenv, rankenv, rankrules
from mpiboot.plan.rankenv import Decision, Rules


def decided(name: str, value: str = "1", **rules: object) -> Decision:
    (one,) = rankenv.rank_environment({name: value}, rules=Rules(**rules))  # type: ignore[arg-type]
    return one


@pytest.mark.parametrize(
    "name",
    [
        "NCCL_DEBUG", "NCCL_IB_HCA", "HOROVOD_FUSION_THRESHOLD", "OMP_NUM_THREADS", "KMP_AFFINITY",
        "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_MAX_THREADS", "GLOO_SOCKET_IFNAME",
        "UCX_TLS", "FI_PROVIDER", "TF_CPP_MIN_LOG_LEVEL", "XLA_FLAGS", "CUDA_LAUNCH_BLOCKING",
        "CUDA_DEVICE_MAX_CONNECTIONS", "PYTHONPATH", "PYTHONUNBUFFERED", "PYTHONHASHSEED",
        "LD_LIBRARY_PATH", "PATH", "MASTER_ADDR", "MASTER_PORT", "WANDB_PROJECT", "WANDB_MODE",
        "MLFLOW_TRACKING_URI", "HF_HOME", "HF_DATASETS_OFFLINE", "TOKENIZERS_PARALLELISM",
        "PYTORCH_CUDA_ALLOC_CONF", "TORCH_NCCL_ASYNC_ERROR_HANDLING", "I_MPI_DEBUG",
        "MPIR_CVAR_CH4_OFI_CAPABILITY_SETS_DEBUG", "AWS_REGION", "NVIDIA_TF32_OVERRIDE",
    ],
)  # fmt: skip
def test_settings_of_a_job_travel(name: str) -> None:
    """What people set on a launcher and expect on ranks arrives there without a word."""
    assert decided(name).passed
    assert decided(name).reason


@pytest.mark.parametrize(
    "name",
    [
        "HOSTNAME", "HOME", "USER", "PWD", "_", "SHLVL", "TMPDIR", "SSH_CONNECTION", "POD_NAME",
        "POD_IP", "NODE_NAME", "KUBERNETES_PORT", "KUBERNETES_SERVICE_HOST", "REDIS_SERVICE_HOST",
        "REDIS_SERVICE_PORT_HTTP", "REDIS_PORT_6379_TCP_ADDR", "MPIBOOT_LINK", "OMPI_MCA_btl",
        "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "HYDRA_LAUNCHER", "PRTE_MCA_plm", "RANK",
        "WORLD_SIZE", "HOROVOD_RANK", "HOROVOD_LOCAL_SIZE", "HOROVOD_GLOO_RENDEZVOUS_ADDR",
        "TF_CONFIG", "NVIDIA_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "NCCL_VERSION",
        "PYTHON_VERSION", "PYTHON_GET_PIP_URL", "PYTHONHOME", "CUDA_HOME", "LC_ALL", "LANG",
        "BASH_FUNC_module%%", "I_MPI_HYDRA_BOOTSTRAP", "AWS_ROLE_ARN", "MY_OWN",
        "HF_TOKEN", "WANDB_API_KEY", "AWS_SECRET_ACCESS_KEY", "MLFLOW_TRACKING_PASSWORD",
        "NCCL_TOKEN", "db_password",
    ],
)  # fmt: skip
def test_what_is_this_containers_own_stays(name: str) -> None:
    """Nothing that is wrong on another pod, secret, or of a name that nobody knows goes there."""
    assert not decided(name).passed
    assert decided(name).reason


@pytest.mark.parametrize("value", ["tcp://10.96.0.7:80", "udp://10.96.0.7:53"])
def test_a_service_of_the_name_of_a_setting(value: str) -> None:
    """Kubernetes sets MASTER_PORT in all pods when a Service is called master."""
    assert not decided("MASTER_PORT", value).passed
    assert decided("MASTER_PORT", "29500").passed


def test_the_users_word_wins() -> None:
    """What is asked for by name travels, be it a secret, an identity, or denied by a glob."""
    env = {"HF_TOKEN": "s", "HOSTNAME": "l", "MINE": "1", "BASH_FUNC_f%%": "() { :; }"}
    wanted = ["HF_TOKEN", "HOSTNAME=given", "MINE", "BASH_FUNC_f%%", "HOME=", "A=b=c"]
    found = rankenv.rank_environment(env, wanted, rules=Rules(deny=("*",)))
    assert all(one.passed and one.wanted and one.reason == "yours" for one in found)
    values = {one.name: one.value for one in found}
    assert (values["HOSTNAME"], values["HOME"], values["A"]) == ("given", "", "b=c")
    assert values["HF_TOKEN"] is None


def test_the_last_word_counts() -> None:
    """Of two words for one name mpirun takes the last, and so do we; an unset name is no value."""
    assert rankenv.rank_environment({}, ["A=1", "A=2", "B"]) == [
        Decision(name="A", passed=True, reason="yours", value="2", wanted=True),
        Decision(name="B", passed=False, reason="yours, but not set here", wanted=True),
    ]


def test_allow_and_deny() -> None:
    """A glob adds names to those that travel, but neither secrets nor identities; a name does."""
    assert decided("MY_DATA", allow=("MY_*",)).passed
    assert not decided("MY_TOKEN", allow=("MY_*", "*")).passed
    assert not decided("HOSTNAME", allow=("*",)).passed
    assert decided("MY_TOKEN", allow=("MY_TOKEN",)).passed
    assert decided("HOSTNAME", allow=("HOSTNAME",)).passed
    assert not decided("NCCL_DEBUG", deny=("NCCL_*",)).passed
    assert not decided("MY_DATA", allow=("MY_DATA",), deny=("MY_*",)).passed


def test_a_workers_own_search_path() -> None:
    """Where an agent serves another PATH, the launcher's stays."""
    (one,) = rankenv.rank_environment({"PATH": "/bin"}, facts=[None, Facts(path="/opt/bin:/bin")])
    assert (one.passed, one.reason) == (False, "a worker's sessions have their own")
    (one,) = rankenv.rank_environment({"PATH": "/bin"}, facts=[None, Facts(path="/bin")])
    assert one.passed


@pytest.mark.parametrize(
    ("word", "listed", "why"),
    [
        ("=value", False, "can hold this name"),
        ("A\n=value", False, "can hold this name"),
        ("A=\0", False, "NUL"),
        ("A=" + "x" * 131070, False, "131072 bytes"),
        ("A=" + "ü" * 65535, False, "131072 bytes"),
        ("A,B=1", True, "comma"),
    ],
)
def test_what_cannot_travel_is_refused_with_the_reason(word: str, listed: bool, why: str) -> None:
    """Nothing is forbidden silently, and mpirun does not fail for it."""
    (one,) = rankenv.rank_environment({}, [word], rules=Rules(listed=listed))
    assert not one.passed
    assert why in one.reason
    assert one.wanted


def test_what_just_fits() -> None:
    """The kernel's limit counts the name, the sign and the NUL."""
    assert rankenv.rank_environment({}, ["A=" + "x" * 131069])[0].passed
    assert rankenv.rank_environment({}, ["A,B=1"])[0].passed


names = st.text(st.characters(exclude_characters="=\0", exclude_categories=["Cs"]), min_size=1)
known = st.sampled_from(["NCCL_X", "HOSTNAME", "A_TOKEN", "PATH", "PYTHONPATH", "X_PORT", "OMP_X"])
values = st.text(st.characters(exclude_characters="\0"), max_size=40)
environments = st.dictionaries(names | known, values, max_size=8)
words = st.lists((names | known) | st.builds("{}={}".format, names | known, values), max_size=4)


@given(environments, words, st.booleans())
def test_each_variable_is_decided_once_and_with_a_reason(
    env: dict[str, str], wanted: list[str], listed: bool
) -> None:
    """All that are set or wanted are in the answer, in order, and none else."""
    found = rankenv.rank_environment(env, wanted, rules=Rules(listed=listed))
    asked = {word.partition("=")[0] for word in wanted}
    assert [one.name for one in found] == sorted({*env, *asked})
    assert all(one.reason for one in found)
    assert {one.name for one in found if one.wanted} == asked


@given(environments, words)
def test_what_is_exported_is_what_was_decided(env: dict[str, str], wanted: list[str]) -> None:
    """Values arrive unchanged, nothing travels that was not decided to, no secret by itself."""
    found = {one.name: one for one in rankenv.rank_environment(env, wanted)}
    exports = passenv.exports(wanted, env, [])
    assert len({one.name for one in exports}) == len(exports)
    for one in exports:
        if one.name not in found:
            assert one.name in ("NCCL_DEBUG", "PYTHONUNBUFFERED")
            continue
        assert found[one.name].passed
        assert one.value is None or f"{one.name}={one.value}" in wanted
        assert not rankenv.is_secret(one.name) or found[one.name].wanted
    assert {one.name for one in exports} >= {name for name, one in found.items() if one.passed}


@given(environments, st.lists(names | known, max_size=3))
def test_deny_is_stronger_than_all_but_the_users_own_word(
    env: dict[str, str], wanted: list[str]
) -> None:
    """With everything denied nothing travels but what was asked for by name."""
    found = rankenv.rank_environment(env, wanted, rules=Rules(deny=("*",), allow=("*",)))
    assert all(one.wanted for one in found if one.passed)


def test_rules_do_not_contradict_each_other() -> None:
    """No name travels by one rule that a rule before it keeps: it would look as if it did."""
    travel = [name for rule in rankrules.TRAVEL for name in rule.names]
    plain = [name for name in travel if not set(name) & set("*?[")]
    assert [name for name in plain if not decided(name).passed] == []
    assert len(set(travel)) == len(travel)


@pytest.mark.parametrize(
    ("name", "secret"),
    [("DB_PASSWD", True), ("HF_TOKEN", True), ("MAX_TOKENS", False), ("NSS_WRAPPER_PASSWD", False)],
)
def test_names_that_speak_of_a_secret(name: str, secret: bool) -> None:
    """A file of accounts is none, and sessions need its name: programs in them look their user up."""
    assert rankenv.is_secret(name) is secret
