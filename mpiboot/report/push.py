"""Push metrics to a Pushgateway, so that jobs shorter than a scrape are seen."""

from __future__ import annotations

import base64
import re
from urllib.parse import quote, unquote, urlsplit

from mpiboot.errors import ConfigError
from mpiboot.model import redacted
from mpiboot.model.record import dataclass, field

_TRY_S = 2.4  # of two tries
_TRIES = 2
_POD_ENDS = (
    r"-(?:launcher|master)-[a-z0-9]{5}$",  # pods that a Kubernetes Job made
    r"-\d+$",
    r"-(?:launcher|master|worker)$",
)


@dataclass(frozen=True, kw_only=True)
class Target:
    """Where metrics are pushed to.

    Attributes:
        url: whole URL of the group, without credentials.
        credentials: user and password, as HTTP's basic scheme has them; empty without.
    """

    url: str
    credentials: str = field(default="", repr=False)

    def push(self, text: str, content_type: str) -> None:
        """Replace the group's metrics by these; tries twice, and takes 5 s at most.

        Raises:
            OSError: it did not work either time.
        """
        for left in reversed(range(_TRIES)):
            try:
                _put(self, text, content_type)
            except OSError:
                if not left:
                    raise
            else:
                return


def target(url: str, *, job: str, instance: str, role: str) -> Target:
    """Read the URL of a Pushgateway; the group is job, instance and role.

    Raises:
        ConfigError: it is no URL of a web server; what it says of users and passwords is not repeated.
    """
    shown = redacted.url(url)
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as fault:
        raise _wrong(shown) from fault
    wrong = re.search(r"[\s\x00-\x1f\x7f]", url) or parts.query or parts.fragment
    if parts.scheme not in ("http", "https") or not host or port == 0 or wrong:
        raise _wrong(shown)
    user = ""
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        user = base64.b64encode(pair.encode(errors="surrogateescape")).decode()
    path = parts.path.rstrip("/")
    group = "".join(
        f"/{_labelled(name, value)}"
        for name, value in (("job", job), ("instance", instance), ("role", role))
    )
    where = parts.netloc.rpartition("@")[2]
    return Target(url=f"{parts.scheme}://{where}{path}/metrics{group}", credentials=user)


def _wrong(shown: str) -> ConfigError:
    return ConfigError(
        f"{shown!r} is no URL of a Pushgateway: expected http://HOST:PORT or https://HOST:PORT",
        hint="change --pushgateway",
    )


def _labelled(name: str, value: str) -> str:
    """Put a label into the path: what is empty or has a slash is told in base64."""
    if value and "/" not in value:
        return f"{name}/{quote(value, safe='')}"
    coded = base64.urlsafe_b64encode(value.encode(errors="surrogateescape")).decode() or "="
    return f"{name}@base64/{coded}"


def job_name(chosen: str, hostname: str) -> str:
    """Return the job's name: the chosen one, else the pod's less role and ordinal."""
    if chosen:
        return chosen
    name = hostname.split(".", maxsplit=1)[0]
    for end in _POD_ENDS:
        name = re.sub(end, "", name)
    return name or hostname or "mpiboot"


def _put(where: Target, text: str, content_type: str) -> None:
    from http.client import HTTPException  # noqa: PLC0415 - few jobs push, and all would load it
    from urllib import error, request  # noqa: PLC0415 - as above

    headers = {"Content-Type": content_type}
    if where.credentials:
        headers["Authorization"] = f"Basic {where.credentials}"
    order = request.Request(where.url, text.encode(errors="replace"), headers, method="PUT")  # noqa: S310 - http(s) only, see target
    try:
        with request.urlopen(order, timeout=_TRY_S):  # noqa: S310 - as above
            pass
    except error.HTTPError as fault:
        told = fault.read(300).decode(errors="replace").strip().partition("\n")[0]
        raise OSError(f"it answered {fault.code}: {told or fault.reason}") from fault
    except error.URLError as fault:
        raise OSError(str(getattr(fault.reason, "strerror", None) or fault.reason)) from fault
    except (HTTPException, ValueError) as fault:  # ValueError: a host name that cannot be one
        raise OSError(f"no answer in HTTP: {fault!r}") from fault
