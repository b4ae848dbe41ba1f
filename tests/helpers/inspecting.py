"""What a container tells of itself, asked from outside."""

from __future__ import annotations

import json
import subprocess
import sys

from mpiboot.local.cluster import Pod
from mpiboot.model import facts as model_facts
from mpiboot.model.facts import Facts

_INSPECT = (sys.executable, "-I", "-m", "mpiboot.runtime.inspect")


def seen_in(pod: Pod) -> Facts:
    """Run the inspection in a pod, as its agent would."""
    pipe = subprocess.PIPE
    with pod.popen_in(_INSPECT, stdin=pipe, stdout=pipe) as popen:
        request = {"env": dict(pod.spec.environment), "link": "/run/x"}
        out, _ = popen.communicate(json.dumps(request).encode(), timeout=20)
    assert popen.returncode == 0
    return model_facts.from_json(json.loads(out))
