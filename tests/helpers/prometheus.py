"""A real Prometheus, and a real Pushgateway, in pods beside those of a job.

Series of a job `train` have the labels that an operator would give them, by scrape and by push alike:
`job` is `train`, `instance` the pod's name, for pods called `train-launcher` and `train-worker-N`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

from tests.helpers import monitoring
from tests.helpers.agents import Agent, Agents
from tests.helpers.eventually import eventually

GATEWAY = "http://pushgateway:9091"
_UP_S = 30.0
_QUERY_S = 20.0


class Prometheus:
    """Scrapes the pods named, which may come later, and what was pushed.

    Args:
        agents: where the pods are.
        directory: for its configuration and its data.
        names: of the pods.
        interval_s: between two scrapes.
    """

    def __init__(
        self, agents: Agents, directory: Path, names: Sequence[str], *, interval_s: float = 1
    ) -> None:
        config = directory / "prometheus.yaml"
        config.write_text(yaml.safe_dump(_config(names, interval_s)))
        # Debian's keeps what was pushed on the machine's disk, for the next one.
        forgetful = ["prometheus-pushgateway", "--persistence.file="]
        self._gateway = agents.start("pushgateway", forgetful)
        self._pod = agents.start(
            "prometheus",
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={directory / 'data'}",
                "--web.listen-address=127.0.0.1:9090",  # of its own network
                "--log.level=warn",
            ],
        )
        eventually(self._assert_up, _UP_S)

    @property
    def pods(self) -> tuple[Agent, Agent]:
        """Its pods, which stay when the job's have ended."""
        return self._pod, self._gateway

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Evaluate an expression now.

        Returns:
            the result as the API has it: `metric`, and `value`, or `values` for a range.
        """
        answer = self._ask("query", f"query={expression}")
        result: list[dict[str, Any]] = answer["result"]
        return result

    def close(self) -> None:
        """End both pods."""
        for one in self.pods:
            one.pod.kill()

    def _ask(self, what: str, *fields: str) -> dict[str, Any]:
        words = [word for field in fields for word in ("--data-urlencode", field)]
        url = f"http://127.0.0.1:9090/api/v1/{what}"
        done = self._pod.pod.exec(["curl", "-sS", *words, url], timeout_s=_QUERY_S)
        assert done.returncode == 0, done.stderr + self._pod.log
        assert done.stdout.startswith("{"), done.stdout  # it is not up yet
        answer = json.loads(done.stdout)
        assert answer["status"] == "success", f"{answer.get('error')} in {fields}"
        data: dict[str, Any] = answer["data"]
        return data

    def _assert_up(self) -> None:
        (gateway,) = self.query('up{instance="pushgateway:9091"}') or [{"value": (0, "0")}]
        assert gateway["value"][1] == "1", self._gateway.log


def _config(names: Sequence[str], interval_s: float) -> dict[str, Any]:
    """Take the example's configuration; what Kubernetes would say of the pods is said in its place."""
    config: dict[str, Any] = yaml.safe_load(monitoring.SCRAPES.read_text())
    config["global"] = {
        "scrape_interval": f"{interval_s:g}s",
        "scrape_timeout": f"{min(interval_s, 10):g}s",
        "evaluation_interval": f"{interval_s:g}s",
    }
    config["rule_files"] = [str(monitoring.EXAMPLES / name) for name in config["rule_files"]]
    pods, *_ = config["scrape_configs"]
    del pods["kubernetes_sd_configs"]  # Debian's Prometheus is built without it
    pods["static_configs"] = [_discovered(name) for name in names]
    return config


def _discovered(name: str) -> dict[str, Any]:
    """Return the target that Kubernetes' discovery would make of a Job's pod."""
    said = {
        "annotation_prometheus_io_port": "9650",
        "ip": name,
        "name": name,
        "label_batch_kubernetes_io_job_name": name.partition("-")[0],
    }
    labels = {f"__meta_kubernetes_pod_{key}": value for key, value in said.items()}
    return {"targets": [name], "labels": labels}
