"""How many logins an sshd lets begin at once: enough for the job, and no more than its container bears."""

from __future__ import annotations

from mpiboot.model.record import dataclass

_USUAL = 1000
_LEAST = 20
_PER_SOURCE = 256  # a benchmark, or a script of the user, may log in 200 times at once
_PER_LOGIN = 2  # processes of a login under way, and descriptors that sshd holds for it
_SHARE = 2  # half of what there is may go to logins that are not through


@dataclass(frozen=True, kw_only=True)
class Startups:
    """Bounds of logins that are not through yet.

    Attributes:
        begin: from so many on, some are dropped at random.
        full: so many are never exceeded.
        per_source: bound for one address; a whole job may have one, behind a mesh or a NAT.
    """

    begin: int
    full: int
    per_source: int


def fitted(*, peers: int, nofile: int, pids: int | None) -> Startups:
    """Fit the bounds to the job and its container.

    A worker is logged in to by its launcher, by one daemon's parent and by its neighbours' probes;
    a launcher to which nodes announce themselves, by all of them. The stock 10:30:100 drops a third
    of 50. What is not the job's is to be kept from filling the place: hence a bound for each source.

    Args:
        peers: nodes that may log in at the same moment.
        nofile: limit of open files; -1: none.
        pids: limit of processes of the container; None: none.
    """
    room = 2 * max(_USUAL, 2 * peers)
    if nofile >= 0:
        room = min(room, nofile // (_SHARE * _PER_LOGIN))
    if pids is not None:
        room = min(room, pids // (_SHARE * _PER_LOGIN))
    full = max(_LEAST, room)
    begin = full // 2
    return Startups(begin=begin, full=full, per_source=min(begin, max(_PER_SOURCE, 2 * peers)))
