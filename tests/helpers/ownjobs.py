"""A pod in which a user's own mpirun finds workers, variables and stand-ins, without a launcher.

field = Field(agents, mpi, tmp_path)
done = field.run("mpirun", "-np", "2", *mpi.python_program("ring.py"))
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from mpiboot.mpi.protocol import Node
from mpiboot.plan import ownjob, sshconf, standins
from mpiboot.plan.layout import Place
from mpiboot.plan.ownjob import Job
from tests.helpers.agents import PROGRAMS, Agents
from tests.helpers.keyfiles import make_key_directory
from tests.helpers.mpis import Mpi

REAPING = ("bash", "-c", "sleep infinity & wait")
STANDIN = Path(__file__).parents[2] / "mpiboot/link/standin.py"
SYSTEM = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
PORT = 2222  # a login that does not read our ssh_config finds nobody


class Field:
    """Workers w1 and w2 with one slot each, and a client that knows of them what a launcher knows.

    Args:
        agents: where the pods are made.
        mpi: what they run.
        directory: where files go.
        names: other names that a user has for the workers.
    """

    def __init__(
        self, agents: Agents, mpi: Mpi, directory: Path, names: Mapping[str, str] | None = None
    ) -> None:
        keys = make_key_directory(directory / "keys")
        key_env: dict[str, str | None] = {
            "MPIBOOT_SECRET_FILE": None,
            "MPIBOOT_KEY_DIR": str(keys),
            **mpi.pod.get("env", {}),
        }
        workers = agents.workers(2, "--ssh-port", str(PORT), "--retry-grace", "60", env=key_env)
        self.mpi = mpi
        for worker in workers:
            worker.until_ready()
        tools = directory / "tools"
        tools.mkdir()
        if not (mpi.home / "bin/horovodrun").exists():
            shutil.copy(PROGRAMS / "fake_horovodrun.sh", tools / "horovodrun")
            (tools / "horovodrun").chmod(0o755)
        self.path = f"{tools}:{mpi.pod.get('env', {}).get('PATH', SYSTEM)}"
        self.client = agents.start("client", REAPING, env={"PATH": self.path, "HOME": "/root"})
        self.directory = directory / "own"
        self.directory.mkdir()
        places = [
            Place(name=one.name, node=one.name, slots=1, address=one.pod.address, port=PORT,
                  user="", why="")
            for one in workers
        ]  # fmt: skip
        version = mpi.dialect.recognise(self._version(mpi)) or ""
        self.job = Job(
            dialect=mpi.dialect.NAME,
            version=version,
            hostfile=str(self.directory / "hostfile"),
            ssh_config=str(self.directory / "ssh_config"),
            np=2,
            hosts=tuple((place.node, place.slots) for place in places),
            names=names or {},
            own_address=self.client.pod.address,
            as_root=True,
        )
        self._write(mpi, places, keys)

    def _version(self, mpi: Mpi) -> str:
        done = self.client.pod.exec([str(mpi.home / "bin" / "mpirun"), "--version"])
        return done.stdout + done.stderr

    def _write(self, mpi: Mpi, places: list[Place], keys: Path) -> None:
        own = self.directory
        scan = self.client.pod.exec(["ssh-keyscan", "-p", str(PORT), *(p.address for p in places)])
        shown = [line.split(" ", 1)[1] for line in scan.stdout.splitlines() if line[:1] == "["]
        assert shown, scan.stderr
        (own / "known_hosts").write_text("".join(f"* {key}\n" for key in shown))
        nodes = [Node(name=place.node, slots=place.slots) for place in places]
        (own / "hostfile").write_text(mpi.dialect.hostfile(nodes, "slot"))
        (own / "ssh_config").write_text(
            sshconf.ssh_config(
                places, user="root", port=PORT, identity=str(keys / "id_ed25519"),
                known_hosts=str(own / "known_hosts"),
            )
        )  # fmt: skip
        self.lay_out(self.job, own)

    def lay_out(self, job: Job, directory: Path) -> None:
        """Write the stand-ins of all launchers that are on the pods' PATH."""
        programs = {}
        for name in standins.NAMES:
            found = shutil.which(name, path=self.path)
            if found and standins.belongs(name, os.path.realpath(found), openmpi=job.openmpi):
                programs[name] = found
        call = (sys.executable, "-I", "-S", str(STANDIN))
        (directory / "bin").mkdir(parents=True)
        for script in standins.lay_out(str(directory), programs, job, call):
            path = Path(script.path)
            path.write_text(script.text)
            path.chmod(script.mode)

    @property
    def env(self) -> dict[str, str]:
        """The environment of the job's command."""
        base = {"HOME": "/root", "PATH": f"{self.directory}/bin:{self.path}"}
        return {**base, **ownjob.environment(self.job, base).variables}

    def run(
        self, *argv: str, env: Mapping[str, str] | None = None, timeout_s: float = 60.0
    ) -> subprocess.CompletedProcess[str]:
        """Run the job's command to its end."""
        return self.client.pod.exec(
            list(argv), env={**self.env, **(env or {})}, timeout_s=timeout_s
        )
