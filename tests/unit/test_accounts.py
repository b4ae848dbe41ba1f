"""Which account OpenSSH sees, and what gives a uid one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpiboot.errors import ConfigError, LaunchFailedError
from mpiboot.model import accounts as lines
from mpiboot.model.accounts import Entry, Seen
from mpiboot.model.record import replace
from mpiboot.plan import accounts

PASSWD = "root:x:0:0:root:/root:/bin/bash\n"
LIBRARY = "/usr/lib/x86_64-linux-gnu/libnss_wrapper.so"
NOBODY = Seen(uid=1000650000, gid=0, entry=None, passwd=PASSWD, group="root:x:0:\n", home="/work")
MPI = replace(NOBODY, uid=1000, entry=Entry(name="mpi", home="/home/mpi"))


@pytest.mark.parametrize("serving", [True, False])
def test_an_entry_is_enough(serving: bool) -> None:
    """What is there stays as it is, whatever could be done."""
    seen = replace(MPI, writable=True, library=LIBRARY)
    found = accounts.decide(seen, serving=serving)
    assert (found.entry, found.added, found.library, found.told) == (MPI.entry, "", "", "")


def test_ssh_08_a_line_where_passwd_can_be_written() -> None:
    """It comes before nss_wrapper: all programs see it, those of a later `exec` too."""
    found = accounts.decide(replace(NOBODY, writable=True, library=LIBRARY), serving=True)
    assert found.added == "mpiboot:x:1000650000:0::/work:/bin/sh\n"
    assert not found.library
    assert lines.find(PASSWD + found.added, NOBODY.uid) == found.entry


def test_ssh_08_nss_wrapper_where_it_is_installed() -> None:
    """Its files have all other accounts and groups, too."""
    found = accounts.decide(replace(NOBODY, gid=77, library=LIBRARY), serving=True)
    assert found.library == LIBRARY
    assert found.passwd == "mpiboot:x:1000650000:77::/work:/bin/sh\n" + PASSWD
    assert found.group == "mpiboot:x:77:\nroot:x:0:\n"
    assert accounts.decide(replace(NOBODY, library=LIBRARY), serving=True).group == NOBODY.group


def test_ssh_08_else_one_clear_line() -> None:
    """It names the uid and what to change."""
    with pytest.raises(ConfigError) as told:
        accounts.decide(NOBODY, serving=False)
    assert "uid 1000650000" in str(told.value)
    for remedy in ("useradd", "runAsUser", "nss_wrapper", "group 0"):
        assert remedy in told.value.hint


@pytest.mark.parametrize(
    ("passwd", "name"),
    [("", "mpiboot"), (PASSWD, "mpiboot"), ("mpiboot:x:5:5::/:/bin/sh\n", "mpiboot1000650000")],
)
def test_the_name_is_the_same_in_all_containers(passwd: str, name: str) -> None:
    """The launcher asks for it at the workers; one that is taken is not taken twice."""
    found = accounts.decide(replace(NOBODY, passwd=passwd, writable=True), serving=True)
    assert found.entry.name == name


def test_a_file_without_a_last_newline() -> None:
    """The new line is one of its own."""
    seen = replace(NOBODY, passwd=PASSWD.rstrip(), writable=True)
    found = accounts.decide(seen, serving=True)
    assert lines.find(seen.passwd + found.added, NOBODY.uid) == found.entry


def test_no_home() -> None:
    """A session begins at /, which is always there."""
    seen = replace(NOBODY, home="", writable=True)
    assert accounts.decide(seen, serving=True).entry.home == "/"


@pytest.mark.parametrize(
    ("shell", "runs"), [("/usr/sbin/nologin", True), ("/bin/false", True), ("/bin/zsh", False)]
)
def test_a_shell_that_starts_nothing(shell: str, runs: bool) -> None:
    """A worker ends at once, or has nss_wrapper give it another one; a launcher needs none."""
    seen = replace(MPI, entry=Entry(name="mpi", home="/", shell=shell), shell_runs=runs)
    with pytest.raises(LaunchFailedError, match=shell):
        accounts.decide(seen, serving=True)
    assert accounts.decide(seen, serving=False).entry.name == "mpi"
    found = accounts.decide(replace(seen, library=LIBRARY), serving=True)
    assert found.passwd.startswith("mpi:x:1000:0::/:/bin/sh\n")


def test_a_wrapper_that_the_image_has_set_up() -> None:
    """It is recognised by the loader's variable, for it has no effect on the agent itself."""
    env = {"LD_PRELOAD": f"libx.so:{LIBRARY}", "NSS_WRAPPER_PASSWD": "/tmp/passwd"}
    assert lines.wrapped_file(env) == "/tmp/passwd"
    assert lines.wrapped_file({**env, "LD_PRELOAD": "libx.so"}) == ""
    assert lines.variables(env, LIBRARY, "/p", "/g")["LD_PRELOAD"] == env["LD_PRELOAD"]
    first = lines.variables({"LD_PRELOAD": "libx.so"}, LIBRARY, "/p", "/g")
    assert first["LD_PRELOAD"] == f"{LIBRARY}:libx.so"


@given(st.text(), st.integers(0, 3))
def test_any_text_is_bearable(text: str, uid: int) -> None:
    """Whatever /etc/passwd holds, an entry that is found has a name and a shell."""
    found = lines.find(text, uid)
    assert found is None or (found.name and found.shell)


def test_ssh_does_nothing_without_an_account() -> None:
    """Who has one can use it; who will have none learns that; who gets one is told when."""
    assert accounts.of_client("/usr/bin/ssh", MPI) is None
    lacking = accounts.of_client("/usr/bin/ssh", NOBODY)
    assert lacking is not None
    assert lacking.text == "/usr/bin/ssh does nothing here: uid 1000650000 has no account"
    assert "account" in lacking.remedy
    for changed in (replace(NOBODY, writable=True), replace(NOBODY, library=LIBRARY)):
        coming = accounts.of_client("/usr/bin/ssh", changed)
        assert coming is not None
        assert (coming.remedy, coming.fault) == ("", "")
        assert "uid 1000650000 gets the account" in coming.text
