"""Who may log in to an agent's sshd, and how many at once."""

from __future__ import annotations

from mpiboot.model import sources
from mpiboot.model.settings import Settings
from mpiboot.plan import startups
from mpiboot.plan.startups import Startups
from mpiboot.runtime import pids, rlimits
from mpiboot.runtime.files import kernel_text


def admitted(settings: Settings) -> tuple[str, ...]:
    """Return the sources from which logins may come; none: from all."""
    if not settings.ssh_from:
        return ()
    own = sources.local(kernel_text("/proc/net/fib_trie"), kernel_text("/proc/net/if_inet6"))
    return sources.with_own(settings.ssh_from, own)


def at_once(peers: int) -> Startups:
    """Return how many logins may be under way here.

    Args:
        peers: nodes that may log in at the same moment.
    """
    nofile, _ = rlimits.pair(rlimits.NOFILE)
    return startups.fitted(peers=peers, nofile=nofile, pids=pids.counters().limit)
