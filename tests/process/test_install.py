"""Shims: laid into a tree and taken back, quick where they pass, and worker and launcher where not."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from mpiboot.local.cluster import Bind
from mpiboot.plan import shims, signs
from tests.helpers.agents import Agents, program

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MPIBOOT = (sys.executable, "-I", "-m", "mpiboot")
RING = program("ring.py")


@dataclass(frozen=True, kw_only=True)
class Image:
    """The tree of a small image."""

    root: Path

    def put(self, path: str, text: str, mode: int = 0o755) -> Path:
        place = self.root / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
        place.chmod(mode)
        return place

    def look(self) -> dict[str, tuple[int, str]]:
        """Map each path but dpkg's to its mode, and its content or its link's."""
        return {
            str(path.relative_to(self.root)): (
                path.lstat().st_mode,
                str(path.readlink())
                if path.is_symlink()
                else path.read_text()
                if path.is_file()
                else "",
            )
            for path in sorted(self.root.rglob("*"))
            if "dpkg" not in str(path.relative_to(self.root))
        }

    def run(self, *words: str, code: int = 0, path: str = PATH) -> str:
        done = subprocess.run(
            [*MPIBOOT, *words, "--root", str(self.root)],
            env={"PATH": path}, capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        assert done.returncode == code, done.stdout + done.stderr
        assert "Traceback" not in done.stderr
        return done.stdout + done.stderr


@pytest.fixture
def image(tmp_path: Path) -> Image:
    """An sshd and an Open MPI as Debian lays them, and a bash."""
    made = Image(root=tmp_path / "image")
    made.put("/usr/sbin/sshd", "#!/bin/sh\necho first\n", mode=0o750)
    made.put("/usr/bin/orterun", "#!/bin/sh\necho orterun\n")
    (made.root / "usr/bin/mpirun").symlink_to("/etc/alternatives/mpirun")
    (made.root / "etc/alternatives").mkdir(parents=True)
    (made.root / "etc/alternatives/mpirun").symlink_to("/usr/bin/orterun")
    made.put("/bin/bash", "")
    return made


@pytest.fixture(params=[False, True], ids=["rename", "dpkg"])
def tree(request: pytest.FixtureRequest, image: Image) -> Image:
    """The image with dpkg's files and without."""
    if request.param:
        if not shutil.which("dpkg-divert"):
            pytest.skip("no dpkg-divert")
        image.put("/var/lib/dpkg/status", "")
    return image


def test_there_and_back(tree: Image) -> None:
    """Install twice and uninstall twice: what was moved, linked and made is as it was before."""
    before = tree.look()
    tree.run("install")
    once = tree.look()
    assert "first" in once["usr/lib/mpiboot/sshd"][1]
    assert "is there" in tree.run("install")
    assert tree.look() == once
    assert tree.run("install", "--check").count(": ok") == 5
    tree.run("uninstall")
    assert tree.look() == before
    assert tree.run("uninstall") == "nothing is installed\n"
    tree.run("install", "--check", code=78)


@pytest.mark.parametrize("tree", [True], ids=["dpkg"], indirect=True)
def test_dpkg_knows(tree: Image) -> None:
    """An upgrade of the package goes where the original lies; afterwards dpkg has forgotten it."""
    tree.run("install")
    ask = ["dpkg-divert", "--root", str(tree.root), "--truename", "/usr/sbin/sshd"]
    told = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=20).stdout
    assert told == "/usr/lib/mpiboot/sshd\n"
    tree.run("uninstall")
    told = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=20).stdout
    assert told == "/usr/sbin/sshd\n"


def test_an_upgrade_over_the_shim(tree: Image) -> None:
    """A package manager that knows nothing of it wins: it is noticed, renewed, or left."""
    tree.run("install")
    tree.put("/usr/sbin/sshd", "#!/bin/sh\necho second\n")
    assert "was overwritten" in tree.run("install", "--check", code=78)
    assert "an upgrade" in tree.run("install")
    assert "second" in tree.look()["usr/lib/mpiboot/sshd"][1]
    tree.put("/usr/sbin/sshd", "#!/bin/sh\necho third\n")
    tree.run("uninstall")
    seen = tree.look()
    assert "third" in seen["usr/sbin/sshd"][1]
    assert not [path for path in seen if "mpiboot" in path]


@pytest.mark.parametrize("step", ["recorded", "moved"])
def test_half_done(tree: Image, step: str) -> None:
    """A crash after the record was written, or after the original was moved, costs nothing."""
    before = tree.look()
    for again in ("install", "uninstall"):
        tree.run("install")
        (tree.root / "usr/local/bin/mpirun").unlink()
        sshd = tree.root / "usr/sbin/sshd"
        sshd.unlink()
        if step == "recorded":
            (tree.root / "usr/lib/mpiboot/sshd").rename(sshd)
        tree.run(again)
        if again == "install":
            assert tree.run("install", "--check").count(": ok") == 5
            tree.run("uninstall")
        assert tree.look() == before


def test_another_directory(tree: Image) -> None:
    """Installed again with --dir, no shim stays where it was; uninstall takes the directory away."""
    before = tree.look()
    tree.run("install")
    said = tree.run("install", "--dir", "/opt/mpiboot/shims")
    assert "ENV PATH=/opt/mpiboot/shims:$PATH" in said
    assert "usr/local/bin/mpirun" not in tree.look()
    tree.run("uninstall")
    assert tree.look() == before


@pytest.mark.parametrize("where", [(), ("--dir", "/opt/mpiboot/shims")], ids=["", "dir"])
def test_an_entry_script_that_is_there(image: Image, where: tuple[str, ...]) -> None:
    """Another /usr/local/bin/mpiboot, as our images bring it, is left alone and not missed later."""
    ours = image.put("/usr/local/bin/mpiboot", "#!/bin/sh\n")
    said = image.run("install", *where)
    assert ours.read_text() == "#!/bin/sh\n"
    assert "/usr/local/bin/mpiboot" not in said + image.run("install", "--check")


def test_a_lost_original(tree: Image) -> None:
    """It says so and what to do; with the package back it installs again."""
    tree.run("install")
    (tree.root / "usr/lib/mpiboot/sshd").unlink()
    assert "the original is gone" in tree.run("install", "--check", code=78)
    tree.run("uninstall")
    assert "usr/sbin/sshd" not in tree.look()


def test_no_place(image: Image) -> None:
    """Where the MPI's own directory comes first, 78, and nothing is touched."""
    image.put("/opt/amazon/openmpi/bin/mpirun", "#!/bin/sh\n")
    before = image.look()
    said = image.run("install", path=f"/opt/amazon/openmpi/bin:{PATH}", code=78)
    assert "--dir /opt/mpiboot/shims" in said
    assert image.look() == before


def test_a_place_that_cannot_be_written(tree: Image) -> None:
    """One line and 78, nothing is lost, and uninstall cleans up."""
    tree.put("/usr/lib", "in the way")
    before = tree.look()
    said = tree.run("install", code=78)
    assert "/usr/lib/mpiboot: Not a directory" in said.splitlines()[-1]
    assert "first" in tree.look()["usr/sbin/sshd"][1]
    tree.run("uninstall")
    assert tree.look() == before


# -- the scripts themselves --------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Scripts:
    """Shims over programs that say how they were called."""

    directory: Path

    def lay(self, name: str, *, by_name: bool = False, real: str = "") -> Path:
        told = self.directory / "real" / name
        told.parent.mkdir(exist_ok=True)
        told.write_text('#!/bin/sh\necho real "$@"\n')
        told.chmod(0o755)
        entry = self.directory / "entry"
        entry.write_text('#!/bin/sh\necho agent "$@"\n')
        entry.chmod(0o755)
        real = real or str(told)
        runner = "/bin/bash -p" if by_name else "/bin/sh"
        shim = self.directory / name
        text = shims.shim_text(name, real, name if by_name else real, str(entry), runner=runner)
        shim.write_text(text)
        shim.chmod(0o755)
        return shim


@pytest.fixture
def scripts(tmp_path: Path) -> Scripts:
    return Scripts(directory=tmp_path)


def said(shim: Path, *words: str, **env: str) -> str:
    done = subprocess.run(
        [shim, *words], env=env, capture_output=True, text=True, check=True, timeout=20
    )
    return done.stdout


@pytest.mark.parametrize("by_name", [False, True], ids=["sh", "bash"])
def test_who_is_asked(scripts: Scripts, by_name: bool) -> None:
    """The agent where a sign is; the real program without one, and where the call is its own business."""
    shim = scripts.lay("mpirun", by_name=by_name)
    words = ("-np", "2", "a b", "", "*")
    real = scripts.directory / "real/mpirun"
    argv0 = "mpirun" if by_name else str(real)
    assert said(shim, *words) == "real -np 2 a b  *\n"
    asked = f"agent shim {real} {argv0} -np 2 a b  *\n"
    for name in signs.VARIABLES:
        assert said(shim, *words, **{name: "launcher"}) == asked
    sign = {"K_MPI_JOB_ROLE": "launcher"}
    for name in shims.WITHIN:
        assert said(shim, *words, **{**sign, name: "0"}).startswith("real")
    for value in ("off", "inside"):
        assert said(shim, *words, **sign, MPIBOOT_SHIMS=value).startswith("real")
    assert said(shim, *words, **sign, MPIBOOT_SHIMS="on") == asked
    assert said(shim, "--version", **sign) == "real --version\n"
    assert said(shim, *words, K_MPI_JOB_ROLE="worker").startswith("real")
    assert said(shim, *words, K_MPI_JOB_ROLE="worker", MPIBOOT_ROLE="launcher") == asked


def test_a_sign_may_be_a_file(scripts: Scripts, tmp_path: Path) -> None:
    """A job's Secret in the user's home is one, other keys there are none, nor is a home unset."""
    shim = scripts.lay("sshd")
    place = tmp_path / "a home"
    (place / ".ssh").mkdir(parents=True)
    (place / ".ssh/authorized_keys").touch()
    assert said(shim, "-De", HOME=str(place)) == said(shim, "-De") == "real -De\n"
    (place / ".ssh/id_rsa.pub").touch()
    assert said(shim, "-De", HOME=str(place)).startswith("agent shim")


def test_called_by_its_name(scripts: Scripts) -> None:
    """Open MPI sees the name by which it was called, not a path: that would be a prefix."""
    shim = scripts.lay("mpirun", by_name=True, real=shutil.which("bash") or "/bin/bash")
    assert said(shim, "-c", 'echo "$0"') == "mpirun\n"


def test_a_passing_shim_costs_nothing_to_speak_of(scripts: Scripts) -> None:
    """A few milliseconds: a shell's start, and no Python. The best of many, for load only adds."""
    shim = scripts.lay("mpirun", by_name=True, real="/bin/true")

    def best_ms(*argv: str) -> float:
        times = []
        for _ in range(40):
            start = time.perf_counter()
            subprocess.run(argv, env={}, check=True, timeout=20)
            times.append(time.perf_counter() - start)
        return min(times) * 1000

    added = best_ms(str(shim)) - best_ms("/bin/true")
    print(f"a shim that passes adds {added:.1f} ms")  # noqa: T201
    assert added < 25


def test_a_real_sshd_behind_its_shim(scripts: Scripts, tmp_path: Path) -> None:
    """`sshd -t` and its kin are the real program's, also where a platform says worker."""
    sshd = shutil.which("sshd", path=PATH)
    if sshd is None:
        pytest.skip("no sshd")
    shim = scripts.lay("sshd", real=sshd)
    key = tmp_path / "key"
    subprocess.run(
        ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", key], check=True, timeout=20
    )
    config = tmp_path / "config"
    config.write_text(f"HostKey {key}\n")
    assert said(shim, "-t", "-f", str(config), K_MPI_JOB_ROLE="worker") == ""
    assert "port 22" in said(shim, "-T", "-f", str(config), K_MPI_JOB_ROLE="worker").splitlines()
    assert said(shim, "-De", K_MPI_JOB_ROLE="worker").startswith("agent shim")


# -- end to end ----------------------------------------------------------------------------------------


@pytest.fixture
def shimmed(tmp_path: Path) -> dict[str, Bind]:
    """What pods see at the place of sshd, and before mpirun: shims that lead to the real ones."""
    sshd, mpirun = (shutil.which(name, path=PATH) for name in ("sshd", "mpirun"))
    if sshd is None or mpirun is None:
        pytest.skip("no sshd or no mpirun")
    tmp_path.chmod(0o755)
    entry = tmp_path / "entry"
    entry.write_text(shims.entry_text(sys.executable, blocks=True))
    aside = tmp_path / "aside" / "sshd"
    aside.parent.mkdir()
    shutil.copy2(sshd, aside)
    texts = {
        "sshd": shims.shim_text("sshd", str(aside), str(aside), str(entry), runner="/bin/sh"),
        "mpirun": shims.shim_text("mpirun", mpirun, "mpirun", str(entry), runner="/bin/bash -p"),
    }
    places = {"sshd": sshd, "mpirun": "/run/shims/mpirun"}
    binds = {}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
        binds[name] = Bind(source=str(tmp_path / name), target=places[name], read_only=True)
    entry.chmod(0o755)
    return binds


def worker(agents: Agents, shimmed: dict[str, Bind], name: str, *argv: str, **env: str) -> None:
    agents.mpiboot(
        name, argv, agent=(), binds=(shimmed["sshd"],), env={"MPIBOOT_ROLE": "worker", **env},
        tmpfs=("/run:mode=755",), blocked=(),
    )  # fmt: skip


def launcher_env(**env: str) -> dict[str, str]:
    return {
        "MPIBOOT_ROLE": "launcher", "MPIBOOT_HOSTS": "w1:1,w2:1", "PATH": f"/run/shims:{PATH}", **env
    }  # fmt: skip


def test_unchanged_commands(agents: Agents, shimmed: dict[str, Bind], tmp_path: Path) -> None:
    """`sshd -De -f FILE` and `mpirun …` are worker and launcher: they wait, run, and leave together."""
    config = tmp_path / "sshd_config"
    config.write_text("Port 2222\nUsePAM yes\n")
    worker(agents, shimmed, "w1", "/usr/sbin/sshd", "-De", "-f", str(config))
    command = f"mkdir -p /run/sshd && exec /usr/sbin/sshd -De -p 2222 -f {config}"
    worker(agents, shimmed, "w2", "bash", "-c", command)
    launcher = agents.mpiboot(
        "launcher", ("mpirun", "-np", "2", *RING), agent=(), binds=(shimmed["mpirun"],),
        env=launcher_env(MPIBOOT_SSH_PORT="2222"), blocked=(),
    )  # fmt: skip
    assert launcher.wait(60) == 0, launcher.log
    assert sorted(launcher.out.decode().splitlines()) == ["OK 0/2 w1", "OK 1/2 w2"]
    agents.assert_global()
    assert agents.codes() == {"w1": 0, "w2": 0, "launcher": 0}
    assert f"ssh_port 2222 (Port in {config}); of no effect on it: UsePAM" in agents.all[0].log


def test_an_sshd_in_the_background(agents: Agents, shimmed: dict[str, Bind]) -> None:
    """`sshd && …` goes on as soon as the worker is ready, which leaves with the job."""
    after = "/usr/sbin/sshd && mpiboot-none || true; echo up; exec sleep 40"
    worker(agents, shimmed, "w1", "sh", "-c", after)
    agents.all[0].until_ready()
    launcher = agents.mpiboot(
        "launcher", ("mpirun", "-np", "1", *RING), agent=(), binds=(shimmed["mpirun"],),
        env=launcher_env(MPIBOOT_HOSTS="w1:1"), blocked=(),
    )  # fmt: skip
    assert launcher.wait(60) == 0, launcher.log
    assert agents.all[0].out == b"up\n"
    agents.all[0].until_logged("exit 0: the job is over", 30)


def test_a_script_with_two_launches(agents: Agents, shimmed: dict[str, Bind]) -> None:
    """Workers stay from the first mpirun of a script to the next, and leave with what ends the pod."""
    worker(agents, shimmed, "w1", "/usr/sbin/sshd", "-De")
    script = 'mpirun -np 1 "$@"; echo between; exec mpirun -np 1 "$@"'
    launcher = agents.mpiboot(
        "launcher", ("sh", "-c", script, "sh", *RING), agent=(), binds=(shimmed["mpirun"],),
        env=launcher_env(MPIBOOT_HOSTS="w1:1"), blocked=(),
    )  # fmt: skip
    assert launcher.wait(60) == 0, launcher.log
    assert launcher.out == b"OK 0/1 w1\nbetween\nOK 0/1 w1\n"
    agents.assert_global()
    assert agents.codes()["w1"] == 0


def test_a_failure_is_told(agents: Agents, shimmed: dict[str, Bind]) -> None:
    """The rank that failed, its host, code and last words, as where we call mpirun ourselves."""
    worker(agents, shimmed, "w1", "/usr/sbin/sshd", "-De")
    worker(agents, shimmed, "w2", "/usr/sbin/sshd", "-De")
    job = 'test "$(hostname)" = w1 || { echo boom-42 >&2; exit 7; }'
    launcher = agents.mpiboot(
        "launcher", ("mpirun", "-np", "2", "sh", "-c", job), agent=(), binds=(shimmed["mpirun"],),
        env=launcher_env(), blocked=(),
    )  # fmt: skip
    assert launcher.wait(60) == 7, launcher.log
    assert launcher.log.endswith("exit 7: rank 1 on w2 ended with 7\n"), launcher.log
    assert "[rank 1 on w2] boom-42" in launcher.log
    agents.assert_global()


def test_no_recursion(agents: Agents, shimmed: dict[str, Bind]) -> None:
    """What the job calls is the real program: a launcher starts one launcher, not one within another."""
    worker(agents, shimmed, "w1", "/usr/sbin/sshd", "-De")
    launcher = agents.mpiboot(
        "launcher",
        ("sh", "-c", "mpirun --version | head -n 1; exec mpirun -np 1 mpirun --version"),
        agent=(), binds=(shimmed["mpirun"],), env=launcher_env(MPIBOOT_HOSTS="w1:1"), blocked=(),
    )  # fmt: skip
    assert launcher.wait(60) == 0, launcher.log
    assert launcher.log.count("a launcher calls it when the workers are there") == 1
    agents.assert_global()
