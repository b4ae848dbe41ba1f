"""A line of sshd's log is shown by what it means."""

from __future__ import annotations

import pytest

from mpiboot.plan import sshlog
from mpiboot.plan.sshlog import Line


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("Accepted publickey for root from 10.0.0.1 port 1 ssh2: ED25519 SHA256:x", Line.ACCEPTED),
        ("Failed publickey for root from 10.0.0.1 port 1 ssh2: ED25519 SHA256:x", Line.REJECTED),
        ("Invalid user bob from 10.0.0.1 port 1", Line.REJECTED),
        ("User root from 10.0.0.1 not allowed because account is locked", Line.REJECTED),
        (
            "User root from 10.0.0.1 not allowed because not listed in AllowUsers",
            Line.BARRED,
        ),
        ("Authentication refused: bad ownership or modes for directory /root", Line.REJECTED),
        ("Connection closed by authenticating user root 10.0.0.1 port 1 [preauth]", Line.REJECTED),
        ("Disconnected from user root 10.0.0.1 port 1", Line.CLOSED),
        ("Close session: user root from 10.0.0.1 port 1 id 0", Line.CLOSED),
        ("error: Bind to port 22 on 0.0.0.0 failed: Address already in use.", Line.ERROR),
        ("fatal: Cannot bind any address.", Line.ERROR),
        ("Server listening on 0.0.0.0 port 22.", Line.OTHER),
    ],
)
def test_kinds(line: str, kind: Line) -> None:
    """Sshd 9.2's own lines are told apart."""
    assert sshlog.classify(line) is kind


@pytest.mark.parametrize(
    "lines",
    [
        [
            "Failed publickey for root from 10.0.0.1 port 1 ssh2: ED25519 SHA256:x",
            "Failed publickey for root from 10.0.0.1 port 1 ssh2: RSA SHA256:y",
            "Connection closed by authenticating user root 10.0.0.1 port 1 [preauth]",
        ],
        [
            "Invalid user bob from 10.0.0.1 port 1",
            "Connection reset by invalid user bob 10.0.0.1 port 1 [preauth]",
        ],
        [
            "User root from 10.0.0.1 not allowed because not listed in AllowUsers",
            "Received disconnect from 10.0.0.1 port 1:11: bye [preauth]",
            "Disconnected from invalid user root 10.0.0.1 port 1 [preauth]",
        ],
        [
            "error: maximum authentication attempts exceeded for root from 10.0.0.1 port 1 ssh2 [preauth]",
            "Disconnecting authenticating user root 10.0.0.1 port 1: Too many authentication failures [preauth]",
        ],
    ],
)  # fmt: skip
def test_a_refused_login_counts_once(lines: list[str]) -> None:
    """However many keys it has offered, and whatever is said of it."""
    assert [sshlog.refused(line) for line in lines].count(True) == 1


def test_a_login_that_worked_is_not_refused() -> None:
    """Its lines are told from those of one that did not."""
    for line in (
        "Accepted publickey for root from 10.0.0.1 port 1 ssh2: ED25519 SHA256:x",
        "Disconnected from user root 10.0.0.1 port 1",
        "Connection closed by 10.0.0.1 port 1",
    ):
        assert not sshlog.refused(line)


def test_what_each_level_shows() -> None:
    """QUIET nothing, ERROR faults of sshd and refused sources, INFO logins and faults, VERBOSE all."""
    for kind in Line:
        assert not sshlog.shown(kind, "QUIET")
        assert sshlog.shown(kind, "ERROR") is (kind in (Line.ERROR, Line.BARRED))
        assert sshlog.shown(kind, "INFO") is (kind not in (Line.OTHER, Line.SESSION))
        assert sshlog.shown(kind, "VERBOSE")
        assert sshlog.severity(kind, "VERBOSE") >= 20


def test_knocking_does_not_fill_the_log() -> None:
    """Of 5000 dropped connections some 20 are told, of each source and user the first are."""
    repeats = sshlog.Repeats()
    dropped = "drop connection #{} from [10.0.0.9]:{} on [10.0.0.2]:22 past MaxStartups"
    told = [
        n for n in range(1, 5001)
        if not repeats.muted(Line.ERROR, dropped.format(100 + n % 3, 30000 + n))
    ]  # fmt: skip
    assert told == [*range(1, 11), 16, 32, 64, 128, 256, 512, 1024, 2048, 4096]
    other = "User root from 10.0.0.7 not allowed because not listed in AllowUsers"
    assert not repeats.muted(Line.BARRED, other)
    assert not repeats.muted(Line.ACCEPTED, "Accepted publickey for root from 10.0.0.1 port 1 ssh2")


def test_ever_new_names_are_counted_together() -> None:
    """An attacker with a new user name each time costs neither memory nor log."""
    repeats = sshlog.Repeats()
    told = sum(not repeats.muted(Line.REJECTED, f"Invalid user a{n}x") for n in range(20_000))
    assert told < 256 + 30
    assert len(repeats._counts) <= 257


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Accepted publickey for root from 127.0.0.1 port 56276 ssh2: ED25519 SHA256:x", True),
        ("Starting session: command for root from 127.0.0.1 port 56276 id 0", True),
        ("Disconnected from user root 127.0.0.1 port 56276", True),
        ("Starting session: command for root from 10.77.0.3 port 50022 id 1", False),
        ("Accepted publickey for root from 10.127.0.0.1 port 1 ssh2", False),
        ("Server listening on 0.0.0.0 port 22.", False),
    ],
)
def test_lines_of_a_workers_own_proof(line: str, expected: bool) -> None:
    """They name the loopback address; a launcher's never do."""
    assert sshlog.by_loopback(line) is expected
