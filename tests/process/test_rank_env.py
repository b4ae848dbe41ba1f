"""What the launcher's container sets for the job reaches ranks unasked, on every MPI; nothing else does."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from tests.helpers.agents import Agents
from tests.helpers.mpis import MPIS, Mpi

TRAVELLING = {
    "NCCL_DEBUG": "WARN",
    "NCCL_NEWLINES": 'a\nb c;$(touch /tmp/pwned) "q"\n',
    "HOROVOD_QUOTES": "'\"`\\ $HOME ${PATH} #x %s",
    "OMP_NUM_THREADS": "3",
    "OMP_EMPTY": "",
    "TF_UMLAUT": "ü → 猫 ",
    "UCX_COMMAS": "a,b,,c",
    "XLA_FLAGS": "--a=b --c=d",
    "PYTHONHASHSEED": "7",
    "TOKENIZERS_PARALLELISM": "false",
    "MASTER_PORT": "29500",
    "WANDB_MODE": "offline",
}
STAYING = {
    "MY_OWN": "launcher",
    "DB_PASSWORD": "s3cret-1",
    "WANDB_API_KEY": "s3cret-2",
    "POD_NAME": "launcher-0",
    "CUDA_VISIBLE_DEVICES": "",
    "NVIDIA_VISIBLE_DEVICES": "void",
    "REDIS_SERVICE_HOST": "10.96.0.7",
    "REDIS_PORT": "tcp://10.96.0.7:6379",
    "RANK": "0",
    "LC_ALL": "xx_YY.UTF-8",
    "BASH_FUNC_f%%": "() { :; }",
}


@pytest.mark.parametrize("mpi", MPIS, ids=str)
def test_env_04_settings_travel_and_what_is_the_launchers_own_stays(
    mpi: Mpi, agents: Agents, tmp_path: Path
) -> None:
    """Each value arrives byte for byte; a worker keeps its own name, devices and secrets."""
    mpi.need()
    found = tmp_path / "found"
    found.mkdir()
    path = mpi.pod.get("env", {})
    own = {"MY_OWN": "worker", "POD_NAME": "w1-0", "CUDA_VISIBLE_DEVICES": "0"}
    agents.worker("w1", env={**path, **own})
    launcher = agents.launcher(
        *mpi.python_program("showenv.py", str(found)),
        options=mpi.options,
        env={**path, **TRAVELLING, **STAYING},
    )
    assert launcher.wait() == 0, launcher.log
    agents.assert_global()
    texts = json.loads((found / "w1").read_text())
    env = {name: base64.b64decode(text).decode() for name, text in texts.items()}
    assert {name: env.get(name) for name in TRAVELLING} == TRAVELLING
    expected = {name: own.get(name) for name in STAYING}
    assert {name: env.get(name) for name in STAYING} == expected
    assert env.get("HOSTNAME", "w1") == "w1"
    assert not Path("/tmp/pwned").exists()
    assert "s3cret" not in launcher.log
