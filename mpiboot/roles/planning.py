"""From who is ready to the files and the call of mpirun."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from mpiboot.log import logger
from mpiboot.model.facts import Facts
from mpiboot.model.record import dataclass, replace
from mpiboot.model.settings import Settings
from mpiboot.plan import launch, layout, owning, standins
from mpiboot.plan.gather import Decision
from mpiboot.plan.ground import Ground
from mpiboot.plan.identity import Own
from mpiboot.plan.launchplan import LaunchPlan
from mpiboot.plan.layout import Layout
from mpiboot.roles import describing, ground
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.roles.claiming import Claimant
from mpiboot.roles.elastic import Access
from mpiboot.roles.installation import Installation
from mpiboot.runtime import files
from mpiboot.runtime.keys import KeyMaterial


@dataclass(frozen=True, kw_only=True)
class Planned:
    """What an attempt will do; its files are written.

    Attributes:
        plan: how mpirun is called.
        arranged: who runs what.
        access: makes what gives later workers to a command with an mpirun of its own; None without.
    """

    plan: LaunchPlan
    arranged: Layout
    access: Callable[[Claimant], Access] | None = None


class Planning:
    """The planning of one attempt.

    Args:
        agent: the agent at work.
        installed: the MPI, and what the command is.
        material: the job's keys.
        command: the job.
    """

    def __init__(
        self, agent: Agent, installed: Installation, material: KeyMaterial, command: Sequence[str]
    ) -> None:
        self._agent = agent
        self._installed = installed
        self._material = material
        self._command = command

    async def plan(
        self,
        decision: Decision,
        own: Own,
        own_address: str,
        masters: Mapping[str, str] | None = None,
    ) -> Planned:
        """Arrange the ranks, plan the call, and write the files.

        Args:
            decision: who takes part.
            own: this container.
            own_address: the address of it that workers see; empty where all ranks run here.
            masters: host → the socket at which its lease is shared.

        Raises:
            MpibootError: it cannot work, and why.
        """
        agent, settings, installed = self._agent, self._agent.settings, self._installed
        if any(one.here for one in decision.chosen):
            own = await self._describe_here(own)
        if not all(one.leased for one in decision.chosen):
            # Who holds no lease hears no reports of ranks: they would seem not to have started.
            settings = replace(settings, rank_wrapper=False)
        arranged = layout.arrange(
            decision.chosen, own_hostname=own.hostname, slots=settings.slots, np=settings.np,
            oversubscribe=settings.oversubscribe, calls=layout.calls(settings),
        )  # fmt: skip
        what = ground.collect(
            settings, installed, self._material, directory=str(agent.directory),
            job_env=agent.job_env, own_address=own_address, own=own,
            masters=masters,
        )  # fmt: skip
        facts = [own.facts if one.here else one.facts for one in decision.chosen]
        plan = call(settings, self._command, installed, what, arranged=arranged, facts=facts)
        access = None
        if installed.own is not None:
            access = lambda claimant: Access(agent.settings, plan, installed, what, claimant)  # noqa: E731
            Path(standins.directory_of(what.directory)).mkdir(mode=0o700, exist_ok=True)
        self._write(plan)
        return Planned(plan=plan, arranged=arranged, access=access)

    def _write(self, plan: LaunchPlan) -> None:
        for file in plan.files:
            files.write(Path(file.path), file.text, mode=file.mode)
        for note in plan.notes:
            logger.debug("%s", note)
        logger.debug("mpirun is called as: %s", shlex.join(plan.argv))

    async def _describe_here(self, own: Own) -> Own:
        """Learn of this container what workers tell of theirs: ranks will run here, too."""
        agent = self._agent
        facts = await describing.describe(
            agent.children, agent.job_env,
            session_env=agent.job_env, link=str(agent.directory / SOCKET),
        )  # fmt: skip
        return replace(own, facts=facts)


def call(
    settings: Settings,
    command: Sequence[str],
    installed: Installation,
    what: Ground,
    *,
    arranged: Layout,
    facts: Sequence[Facts | None],
) -> LaunchPlan:
    """Plan the call of mpirun, or of the command where that calls mpirun itself.

    Args:
        settings: what the user chose.
        command: the job.
        installed: the MPI, and what the command is.
        what: this container.
        arranged: who runs what.
        facts: what each of them has; None for a plain sshd.

    Raises:
        ConfigError: this MPI cannot bear a name, or cannot do what is wanted.
    """
    plan = launch.prepare(
        settings, command, installed.dialect, what, look=installed.look, layout=arranged,
        facts=facts,
    )  # fmt: skip
    if installed.own is None:
        return owning.unneeded(plan, settings)
    return owning.plan(
        plan, installed.own, settings, installed.dialect, what,
        layout=arranged, command=command, programs=installed.programs,
    )  # fmt: skip
