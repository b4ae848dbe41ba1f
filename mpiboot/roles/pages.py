"""What a launcher serves to those who look at its job with a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from mpiboot.roles.agent import Agent
from mpiboot.runtime.http import Reply, Stream

if TYPE_CHECKING:
    from mpiboot.roles.viewing import Viewing


def offer(agent: Agent, viewing: Callable[[], Viewing]) -> None:
    """Add the page and what it is made of to the agent's routes, unless it is not wanted.

    Args:
        agent: the agent at work.
        viewing: what is shown; it is made for the first who looks.
    """
    if not agent.settings.page:
        return
    agent.routes["/"] = _page
    agent.routes["/view.json"] = lambda: Reply(
        status=200, body=viewing().text(), content_type="application/json"
    )
    agent.routes["/events"] = lambda: Stream(events=viewing().events())


def _page() -> Reply:
    from mpiboot.report import page  # noqa: PLC0415 - most launchers are never looked at

    return Reply(status=200, body=page.text(), content_type="text/html; charset=utf-8")
