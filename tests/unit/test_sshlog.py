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


def test_what_each_level_shows() -> None:
    """QUIET nothing, ERROR faults of sshd and refused sources, INFO logins and faults, VERBOSE all."""
    for kind in Line:
        assert not sshlog.shown(kind, "QUIET")
        assert sshlog.shown(kind, "ERROR") is (kind in (Line.ERROR, Line.BARRED))
        assert sshlog.shown(kind, "INFO") is (kind not in (Line.OTHER, Line.SESSION))
        assert sshlog.shown(kind, "VERBOSE")
        assert sshlog.severity(kind, "VERBOSE") >= 20
