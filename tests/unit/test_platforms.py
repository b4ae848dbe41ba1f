"""Role and hosts come from what can be seen, or one clear error says that nothing tells."""

from __future__ import annotations

import pytest

from mpiboot import platforms
from mpiboot.errors import ConfigError, UsageError
from mpiboot.model.hosts import Enumerated, Host, Listed
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Surroundings


def around(files: dict[str, str] | None = None, **settings: object) -> Surroundings:
    return Surroundings(env={}, files=files or {}, settings=Settings(**settings))  # type: ignore[arg-type]


def test_the_declared_role_wins() -> None:
    """MPIBOOT_ROLE is the user's word, even where hosts are given."""
    assert platforms.identify(around(role="worker", hosts="a")).role == "worker"


def test_who_has_hosts_is_the_launcher() -> None:
    """Hosts are given to launchers only."""
    assert platforms.identify(around(hosts="a")).role == "launcher"
    assert platforms.identify(around(hostfile="/h")).role == "launcher"


def test_nothing_tells() -> None:
    """One error that says what to set."""
    with pytest.raises(UsageError, match="MPIBOOT_ROLE=worker"):
        platforms.identify(around())


def test_sources() -> None:
    """A list, a name, a file."""
    assert platforms.find_source(around(hosts="a:2")) == Listed(hosts=(Host(name="a", slots=2),))
    assert platforms.find_source(around(hosts="dns:w", workers=3)) == Enumerated(name="w", count=3)
    assert "/h" in platforms.wanted_files(Settings(hostfile="/h"), {})
    listed = platforms.find_source(around({"/h": "b slots=1\n"}, hostfile="/h"))
    assert listed == Listed(hosts=(Host(name="b", slots=1),))


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({}, "no workers are named"),
        ({"hosts": "a", "hostfile": "/h"}, "both"),
        ({"hostfile": "/h"}, "cannot be read"),
    ],
)
def test_hosts_that_cannot_be_known(settings: dict[str, object], told: str) -> None:
    """Each way in which they cannot be known has its own words."""
    with pytest.raises(ConfigError, match=told):
        platforms.find_source(around(**settings))  # type: ignore[arg-type]
