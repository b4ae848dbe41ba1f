"""Who may log in to an agent's sshd, and how many at once."""

from __future__ import annotations

import contextlib
from pathlib import Path

from mpiboot.model import sources
from mpiboot.model.settings import Settings
from mpiboot.plan import startups
from mpiboot.plan.startups import Startups
from mpiboot.runtime import container


def admitted(settings: Settings) -> tuple[str, ...]:
    """Return the sources from which logins may come; none: from all."""
    own = sources.local(_text("/proc/net/fib_trie"), _text("/proc/net/if_inet6"))
    return sources.with_own(settings.ssh_from, own)


def at_once(peers: int) -> Startups:
    """Return how many logins may be under way here.

    Args:
        peers: nodes that may log in at the same moment.
    """
    limits = container.limits()
    return startups.fitted(peers=peers, nofile=limits.nofile[0], pids=limits.pids)


def _text(path: str) -> str:
    with contextlib.suppress(OSError):
        return Path(path).read_text(errors="replace")
    return ""
