"""What a launcher serves to those who look at its job with a browser."""

from __future__ import annotations

from mpiboot.roles.agent import Agent
from mpiboot.roles.viewing import Viewing
from mpiboot.runtime.http import Reply, Stream


def offer(agent: Agent, viewing: Viewing) -> None:
    """Add the page and what it is made of to the agent's routes, unless it is not wanted."""
    agent.on_ended = viewing.close
    if not agent.settings.page:
        return
    agent.routes["/view.json"] = lambda: Reply(
        status=200, body=viewing.text(), content_type="application/json"
    )
    agent.routes["/events"] = lambda: Stream(events=viewing.events())
