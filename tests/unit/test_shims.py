"""Which shims go where, and what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from mpiboot.model import options
from mpiboot.model import shims as model
from mpiboot.model.record import replace
from mpiboot.model.settings import Settings
from mpiboot.model.shims import Kind, Program, Shim
from mpiboot.plan import shims, standins
from mpiboot.plan.ownrun import LAUNCHERS
from mpiboot.plan.shims import Outfit, Scene
from mpiboot.roles import agent

DEBIAN = (
    "/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin",
)  # fmt: skip
MPIRUN = Program(path="/usr/bin/mpirun", target="/usr/bin/mpirun.openmpi")
SSHD = Program(path="/usr/sbin/sshd", target="/usr/sbin/sshd")


def scene(path: tuple[str, ...] = DEBIAN, **programs: Program) -> Scene:
    return Scene(
        path=path, programs=programs, kinds={}, python="/venv/bin/python", bash="/bin/bash"
    )


def the_shim(outfit: Outfit) -> Shim:
    assert outfit.problems == ()
    (shim,) = outfit.shims
    return shim


def test_a_launcher_of_the_system() -> None:
    """Its shim comes first on PATH; the program is not moved."""
    shim = the_shim(shims.plan(scene(mpirun=MPIRUN), "/usr/local"))
    assert (shim.place, shim.real, shim.aside) == ("/usr/local/bin/mpirun", "/usr/bin/mpirun", "")


def test_a_launcher_in_usr_local() -> None:
    """What pip or `make install` put into /usr/local/bin gets its shim in /usr/local/sbin."""
    program = Program(path="/usr/local/bin/mpirun", target="/usr/local/bin/mpirun")
    assert the_shim(shims.plan(scene(mpirun=program), "/usr/local")).place == (
        "/usr/local/sbin/mpirun"
    )


@pytest.mark.parametrize("first", ["/opt/amazon/openmpi/bin", "/usr/local/mpi/bin"])
def test_a_launcher_that_comes_before_all(first: str) -> None:
    """Where PATH begins with the MPI's own directory, it says which two lines help."""
    program = Program(path=f"{first}/mpirun", target=f"{first}/mpirun")
    image = scene((first, *DEBIAN), mpirun=program)
    outfit = shims.plan(image, "/usr/local")
    assert outfit.shims == ()
    (problem,) = outfit.problems
    assert "--dir /opt/mpiboot/shims" in problem
    assert "`ENV PATH=/opt/mpiboot/shims:$PATH`" in problem
    helped = shims.plan(
        replace(image, path=("/opt/mpiboot/shims", *image.path)), "/usr/local", "/opt/mpiboot/shims"
    )
    assert the_shim(helped).place == "/opt/mpiboot/shims/mpirun"
    assert not any("ENV PATH" in note for note in helped.notes)


def test_a_directory_that_is_not_on_path_yet() -> None:
    """The ENV line may come after the RUN line: it is laid, and the line is told."""
    outfit = shims.plan(scene(mpirun=MPIRUN), "/usr/local", "/opt/mpiboot/shims")
    assert the_shim(outfit).place == "/opt/mpiboot/shims/mpirun"
    assert any("ENV PATH=/opt/mpiboot/shims:$PATH" in note for note in outfit.notes)


def test_a_place_that_is_taken() -> None:
    """A program that is no shim of ours is never overwritten."""
    taken = replace(scene(mpirun=MPIRUN), kinds={"/usr/local/bin/mpirun": Kind.OTHER})
    assert the_shim(shims.plan(taken, "/usr/local")).place == "/usr/local/sbin/mpirun"
    assert shims.plan(taken, "/usr/local", "/usr/local/bin").problems


def test_sshd_in_its_place() -> None:
    """YAML calls sshd by its path: the original goes aside, under the name that PAM knows."""
    shim = the_shim(shims.plan(replace(scene(sshd=SSHD), dpkg=True), "/usr/local"))
    assert shim.place == "/usr/sbin/sshd"
    assert shim.aside == shim.real == "/usr/lib/mpiboot/sshd"
    assert shim.diverted


def test_sshd_that_is_a_link() -> None:
    """The link goes aside, called is what it led to."""
    program = Program(path="/usr/sbin/sshd", target="/opt/ssh/sbin/sshd")
    shim = the_shim(shims.plan(scene(sshd=program), "/usr/local"))
    assert (shim.aside, shim.real) == ("/usr/lib/mpiboot/sshd", "/opt/ssh/sbin/sshd")


def test_sshd_behind_its_shim() -> None:
    """Installing again says the same."""
    first = the_shim(shims.plan(scene(sshd=SSHD), "/usr/local"))
    again = Program(path=first.place, target=model.real_of(first.text))
    assert the_shim(shims.plan(scene(sshd=again), "/usr/local")) == first


def test_how_programs_are_called() -> None:
    """Open MPI by its name, for a path is a prefix to it; hydra by its path, for it looks beside it."""
    by_name = the_shim(shims.plan(scene(mpirun=MPIRUN), "/usr/local")).text
    assert by_name.startswith("#!/bin/bash -p\n")
    assert 'exec -a mpirun /usr/bin/mpirun "$@"' in by_name
    hydra = Program(path="/usr/bin/mpiexec", target="/usr/bin/mpiexec.hydra", hydra=True)
    by_path = the_shim(shims.plan(scene(mpiexec=hydra), "/usr/local")).text
    assert by_path.startswith("#!/bin/sh\n")
    assert 'exec /usr/bin/mpiexec "$@"' in by_path
    without_bash = replace(scene(mpirun=MPIRUN), bash="")
    assert "exec -a" not in the_shim(shims.plan(without_bash, "/usr/local")).text


def test_what_is_not_installed() -> None:
    """Said in one line, and no fault."""
    notes = shims.plan(scene(mpirun=MPIRUN, sshd=SSHD), "/usr/local").notes
    assert "horovodrun" in notes[0]
    assert "mpirun," not in notes[0]


def test_entry_is_the_image_one() -> None:
    """What `pip install` gets is what the images have: entrypoints/mpiboot, with its own Python."""
    path = Path(__file__).parents[2] / "entrypoints/mpiboot"
    ours = [line for line in path.read_text().splitlines() if not line.startswith("# ")]
    text = shims.entry_text("/opt/mpiboot/bin/python", blocks=True)
    assert [line for line in text.splitlines() if not line.startswith("# ")] == ours
    assert shims.entry_text("python", blocks=False).startswith("#!/bin/sh\n")


def test_entry_that_is_there_already() -> None:
    """The images' own /usr/local/bin/mpiboot stays; what shims call is laid beside the record."""
    image = replace(scene(sshd=SSHD), kinds={"/usr/local/bin/mpiboot": Kind.OTHER})
    places = [one.place for one in shims.plan(image, "/usr/local").entries]
    assert places == ["/usr/local/lib/mpiboot/entry"]
    bare = [one.place for one in shims.plan(scene(sshd=SSHD), "/usr/local").entries]
    assert bare == ["/usr/local/lib/mpiboot/entry", "/usr/local/bin/mpiboot"]


def test_kinds() -> None:
    """A shim is known by its second line, whatever lies around it."""
    text = shims.shim_text("mpirun", "/a b/mpirun", "mpirun", "/e", runner="/bin/sh")
    assert model.kind_of(text[: model.HEAD_BYTES]) is Kind.OURS
    assert model.real_of(text) == "/a b/mpirun"
    assert model.kind_of(shims.entry_text("p", blocks=True)) is Kind.OURS
    assert model.kind_of(None) is Kind.ABSENT
    for other in ("", "\x7fELF", "#!/bin/sh\n", "#!/bin/sh\necho # mpiboot shim of /x\n"):
        assert model.kind_of(other) is Kind.OTHER
        assert model.real_of(other) == ""


def test_every_launcher_is_known_as_one() -> None:
    """What gets a shim is what the launcher takes for a command's own launcher."""
    assert set(shims.LAUNCHERS) <= LAUNCHERS


def test_the_variable_is_no_setting() -> None:
    """MPIBOOT_SHIMS in a container's environment is no unknown name, and one word for both kinds."""
    resolved = options.resolve({}, {"MPIBOOT_SHIMS": "off"}, None, [])
    assert resolved.settings == Settings()
    assert standins.OFF == model.VARIABLE


@pytest.mark.parametrize(
    ("given", "handed_on"), [({}, "inside"), ({"MPIBOOT_SHIMS": "off"}, "off")]
)
def test_what_the_agent_starts_goes_past_shims(given: dict[str, str], handed_on: str) -> None:
    """Recursion ends here; stand-ins still work, unless all are off."""
    env = agent.job_environment({"A": "b", "MPIBOOT_SECRET": "x", **given})
    assert env == {"A": "b", "MPIBOOT_SHIMS": handed_on}
