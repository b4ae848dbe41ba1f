"""Which form of a name to ask for, and when to ask again: what resolv.conf and past answers say of it.

A resolver with Kubernetes' `ndots:5` tries a name with up to four dots behind each entry of the
search list before it asks for the name itself, each time for IPv4 and IPv6: up to ten queries for
one look at a pod that is not there yet. A name with a full stop at its end costs one.
"""

from __future__ import annotations

from mpiboot.model.record import dataclass
from mpiboot.model.zone import Zone

_SVC = "svc"
# CoreDNS may keep a negative answer: who asks too often learns nothing and burdens all.
AGAIN_S = 1.0
# Between two looks at a Service: one query, however many pods there are.
_WATCH_S = (0.25, 2.0)
# All names together a second: while no Service tells of news, and when one does.
_BUDGET, _BUDGET_AT_NEWS = 200.0, 1000.0
# A Service tells of news; its names are looked at without any so often all the same.
_UNTOLD_S = 5.0
_SCOUT_EVERY = 8


def forms(name: str, zone: Zone) -> tuple[str, ...]:
    """List the absolute names that the resolver would try, the likeliest first.

    A pod is called `pod.service`, `pod.service.namespace`, or one of them with `.svc` and the
    cluster's domain behind it; one label is a Service.
    """
    if name.endswith("."):
        return (name,)
    lower, domain = name.lower(), zone.domain
    if lower.endswith(f".{domain}"):
        return (f"{name}.",)
    if lower.endswith(f".{_SVC}"):
        likely = f"{name}.{domain}."
    elif name.count(".") < 2:
        likely = f"{name}.{zone.suffix}."
    elif name.count(".") == 2:
        likely = f"{name}.{_SVC}.{domain}."
    else:
        likely = f"{name}."
    others = (*(f"{name}.{entry}." for entry in zone.search), f"{name}.")
    return tuple(dict.fromkeys((likely, *others)))


def shape(name: str) -> str:
    """Return what pods of one Service have in common in their names: all behind the first label."""
    return name.rstrip(".").lower().partition(".")[2]


def service(form: str, zone: Zone) -> str | None:
    """Return the absolute name of the headless Service that publishes a pod's name.

    Args:
        form: the pod's absolute name.
        zone: of this pod.
    """
    parent = form.partition(".")[2]
    lead, inside, _ = parent.lower().rpartition(f".{_SVC}.{zone.domain}.")
    return parent if inside and lead.count(".") == 1 else None


def scouts(looks: int, *, scouted: bool) -> bool:
    """Tell whether a look is for all forms of a name of which none has answered yet.

    Args:
        looks: how often the name was looked for before.
        scouted: whether another name of the same shape was just looked for in all forms.
    """
    return looks % _SCOUT_EVERY == 0 if looks else not scouted


@dataclass(frozen=True, kw_only=True)
class Look:
    """The last look for a name that was not there.

    Attributes:
        at_s: when, by any clock.
        news: how often its Service's answer had grown by then.
        spread: factor of the pause after it, 1 or a little more: names are not looked for in step.
    """

    at_s: float
    news: int
    spread: float = 1.0


def due_s(last: Look, *, news: int, watched: bool, missing: int) -> float:
    """Tell when to look for a missing name again.

    Args:
        last: the look before.
        news: how often its Service's answer has grown by now.
        watched: whether that Service has answered at all.
        missing: names that are looked for, all together.

    Returns:
        The time, by the clock of the last look.
    """
    if not watched:
        pause = max(AGAIN_S, missing / _BUDGET)
    elif news == last.news:
        pause = max(_UNTOLD_S, missing / _BUDGET)
    else:
        pause = max(AGAIN_S, missing / _BUDGET_AT_NEWS)
    return last.at_s + pause * last.spread


def watch_pause_s(waited_s: float, addresses: int) -> float:
    """Tell how long to wait between two looks at a Service.

    News are found no later than by a twentieth of the time that they took to come; an answer with
    thousands of addresses is large, and comes over TCP; one with none is a negative answer.
    """
    least, most = _WATCH_S
    pause = max(least, waited_s / 20, addresses / 1000)
    return min(most, pause) if addresses else max(AGAIN_S, min(most, pause))
