"""The worker: sshd, proof of login, readiness, leases, and leaving with the job."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from mpiboot.errors import ConfigError, ExitCode, LaunchFailedError
from mpiboot.link import bridge, messages
from mpiboot.link.messages import Message
from mpiboot.link.server import Callbacks, Lease, LinkServer
from mpiboot.log import logger
from mpiboot.model import facts as model_facts
from mpiboot.model.facts import Facts
from mpiboot.model.outcome import Failure, Fault, Outcome, Stage
from mpiboot.plan import passenv, release, sshconf, sshlog, verdict
from mpiboot.plan.layout import Place
from mpiboot.report import metrics
from mpiboot.roles.agent import SOCKET, Agent
from mpiboot.runtime import files, inspect, keys, processes, sshd
from mpiboot.runtime.keys import KeyMaterial

_LOGIN_S = 20.0
_LOGIN_TRIES = 3
_FACTS_S = 20.0
_SESSION_POLL_S = 1.0


class Worker:
    """One worker run."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._settings = agent.settings
        self._loop = asyncio.get_running_loop()
        self._seen = release.Seen(ready_at=self._loop.time())
        self._terms = release.Terms(
            first_contact_s=agent.settings.first_contact_s,
            retry_grace_s=agent.settings.retry_grace_s,
        )
        self._not_ready = "starting"
        self._sshd: sshd.Sshd | None = None
        self._sshd_failed = ""
        self._rejected = 0
        self._facts: Facts | None = None
        self._waiting_for_facts: list[Lease] = []
        self._link = LinkServer(
            Callbacks(
                on_open=self._opened,
                on_message=self._told,
                on_close=self._closed,
                on_probe=lambda what: self._not_ready if what == "ready" else "",
            ),
            beat_s=agent.settings.heartbeat_s,
            lost_s=agent.settings.lease_timeout_s,
        )
        agent.not_ready = lambda: self._not_ready
        agent.details = self._details
        agent.families = self._families

    async def run(self) -> Outcome:
        """Serve until the job is over, then drain."""
        if not await self._agent.unless_stopped(self._become_ready()):
            outcome = verdict.of_stop(self._agent.stop_signal or 15, "starting")
        else:
            outcome = await self._serve()
        await self._drain()
        return outcome

    async def _become_ready(self) -> None:
        agent, settings = self._agent, self._settings
        path = sshd.find(settings.sshd, agent.job_env)
        user = sshd.account()
        origin = keys.find(settings, agent.env)
        sshd.make_privsep_directory()
        material, version = await asyncio.gather(
            keys.prepare_in_child(origin, agent.directory, agent.children),
            sshd.version(path, agent.children),
        )
        logger.info("keys from %s, sshd %s of OpenSSH %s.%s", material.what, path, *version)
        config = self._write_config(user, material, version)
        self._sshd = sshd.Sshd(
            agent.children,
            path=path,
            config=config,
            restarts=settings.sshd_restarts,
            on_line=self._sshd_said,
            on_fail=self._sshd_gone,
        )
        await self._sshd.check()
        await self._link.start(agent.directory / SOCKET)
        self._sshd.start()
        self._not_ready = "sshd is started, no login has worked yet"
        await asyncio.gather(self._prove_login(user, material), self._look_around())
        self._become(ready=True)

    def _write_config(self, user: str, material: KeyMaterial, version: tuple[int, int]) -> Path:
        agent, settings = self._agent, self._settings
        environment, left_out = passenv.session_environment(
            agent.job_env, allow=settings.session_env_allow, deny=settings.session_env_deny
        )
        if left_out:
            logger.info("not given to SSH sessions: %s", ", ".join(left_out))
        program = [sys.executable, "-I", "-S", bridge.__file__, str(agent.directory / SOCKET)]
        terms = sshconf.ServerTerms(
            port=self._port,
            user=user,
            host_keys=material.host_keys,
            authorized_keys=material.authorized_keys,
            environment=environment,
            bridge=[shlex.quote(word) for word in program],
            log_level="DEBUG" if settings.sshd_log_level == "DEBUG" else "VERBOSE",
            openssh=version,
            use_pam=os.getuid() == 0 and sshd.locked(user),
            strict_modes=files.strictly_private(Path(material.authorized_keys)),
        )
        path = agent.directory / "sshd_config"
        files.write(path, sshconf.sshd_config(terms))
        return path

    @property
    def _port(self) -> int:
        return self._settings.ssh_port or (22 if os.getuid() == 0 else 2222)

    async def _prove_login(self, user: str, material: KeyMaterial) -> None:
        """Log in to ourselves, with the same ssh and the same checks as mpirun will."""
        agent = self._agent
        ssh = inspect.find_program("ssh", agent.job_env)
        if ssh is None:
            raise ConfigError("no ssh client on PATH", hint="install openssh-client in this image")
        known, config = agent.directory / "known_hosts", agent.directory / "loopback_config"
        files.write(known, sshconf.known_hosts(material.host_publics))
        self_place = Place(
            name="loopback", node="loopback", slots=1, address="127.0.0.1", port=self._port,
            user=user, why="",
        )  # fmt: skip
        text = sshconf.ssh_config(
            [self_place], user=user, port=self._port, identity=material.identity,
            known_hosts=str(known),
        )  # fmt: skip
        files.write(config, text)
        fault = ""
        for attempt in range(_LOGIN_TRIES):
            if self._sshd_failed:
                raise ConfigError(self._sshd_failed)
            await asyncio.sleep(attempt)
            fault = await sshd.login(agent.children, ssh, config, _LOGIN_S, self._port)
            if not fault:
                return
        raise LaunchFailedError(
            f"sshd runs, but a login of {user} to this container fails: {fault}",
            hint="see sshd's own lines above; is the account usable, has it a shell?",
        )

    async def _look_around(self) -> None:
        """Learn the facts that launchers will ask for, in a process that gives its memory back."""
        agent = self._agent
        environment, _ = passenv.session_environment(
            agent.job_env, allow=(), deny=self._settings.session_env_deny
        )
        mpi = ""
        mpirun = inspect.find_program("mpirun", agent.job_env)
        if mpirun:
            done = await agent.children.run([mpirun, "--version"], timeout_s=_FACTS_S)
            mpi = done.stdout.decode(errors="replace").strip().split("\n")[0]
        argv = [sys.executable, "-I", "-m", "mpiboot.runtime.inspect"]
        request = json.dumps({"env": environment, "mpi": mpi}).encode()
        done = await agent.children.run(argv, timeout_s=_FACTS_S, stdin=request)
        data: dict[str, object] = {}
        with contextlib.suppress(ValueError):
            data = json.loads(done.stdout)
        self._facts = model_facts.from_json(data)
        for lease in self._waiting_for_facts:
            lease.send(messages.facts_message(self._facts))

    def _become(self, *, ready: bool, why: str = "") -> None:
        agent = self._agent
        path = Path(self._settings.ready_file or agent.directory / "ready")
        if ready:
            self._not_ready = ""
            self._seen = replace(self._seen, ready_at=self._loop.time())
            files.write(path, "ready\n", mode=0o644)
            logger.info("ready on port %s", self._port)
            agent.enter(Stage.READY)
        else:
            self._not_ready = why or "ending"
            with contextlib.suppress(OSError):
                path.unlink()

    async def _serve(self) -> Outcome:
        """Stay as long as the release rules say so."""
        agent = self._agent
        while True:
            if agent.stop_signal is not None:
                stage = agent.timeline.stage.value
                return replace(verdict.of_stop(agent.stop_signal, stage), ran=self._used)
            if self._sshd_failed:
                message = self._sshd_failed
                return Outcome(
                    code=int(ExitCode.LAUNCH_FAILED), fault=Fault.INFRASTRUCTURE, message=message,
                    failures=(Failure(message=message),), ran=self._used,
                )  # fmt: skip
            self._count_sessions()
            decision = release.decide(self._seen, self._terms, self._loop.time())
            if isinstance(decision, release.Exit):
                return self._outcome_of(decision)
            await self._until_something(decision.until)

    @property
    def _used(self) -> bool:
        return self._seen.silent_since is not None or self._seen.quiet_since is not None

    def _outcome_of(self, decision: release.Exit) -> Outcome:
        good = decision.code == ExitCode.OK
        return Outcome(
            code=int(decision.code),
            fault=Fault.NONE if good else Fault.INFRASTRUCTURE,
            message=decision.reason,
            failures=() if good else (Failure(message=decision.reason),),
            ran=self._used,
        )

    async def _until_something(self, until: float | None) -> None:
        """Sleep until an event, a set time, or the next look at plain sessions."""
        changed = self._agent.changed
        times = [until] if until is not None else []
        if self._seen.sessions and not self._seen.leases:
            times.append(self._loop.time() + _SESSION_POLL_S)
        wait = max(0.01, min(times) - self._loop.time()) if times else None
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(changed.wait(), wait)
        changed.clear()

    def _count_sessions(self) -> None:
        """Keep book of SSH sessions that are not leases: plain mpirun's daemons."""
        if self._sshd is None or not self._contacted:
            return
        now = self._sshd.sessions() - len(self._link.leases)
        if now <= 0 < self._seen.sessions or (now <= 0 and self._seen.quiet_since is None):
            self._seen = replace(self._seen, quiet_since=self._loop.time())
        self._seen = replace(self._seen, sessions=max(0, now))

    _contacted = False

    def _sshd_said(self, line: str) -> None:
        """Pass a line of sshd's log on, and take note of logins."""
        what = sshlog.classify(line)
        if sshlog.shown(what, self._settings.sshd_log_level):
            logger.log(sshlog.severity(what, self._settings.sshd_log_level), "sshd: %s", line)
        if what is sshlog.Line.ACCEPTED and not self._not_ready:
            self._contacted = True
            self._agent.changed.set()
        if what is sshlog.Line.REJECTED:
            self._rejected += 1
        if what is sshlog.Line.CLOSED and self._contacted:
            self._agent.changed.set()

    def _sshd_gone(self, why: str) -> None:
        self._sshd_failed = why
        self._become(ready=False, why=why)
        self._agent.changed.set()

    def _opened(self, lease: Lease, message: Message) -> None:
        logger.info("launcher %s is here", message.text("launcher") or "without a name")
        self._seen = replace(self._seen, leases=len(self._link.leases), over=None)
        if self._facts is None:
            self._waiting_for_facts.append(lease)
        else:
            lease.send(messages.facts_message(self._facts))
        self._agent.changed.set()

    def _told(self, lease: Lease, message: Message) -> None:
        if message.kind == messages.OVER:
            over = messages.read_over(message)
            if over is not None:
                self._seen = replace(self._seen, over=over)
                lease.send(Message(kind=messages.BYE))
                self._agent.changed.set()
        elif message.kind == messages.PHASE and message.text("stage") == Stage.RUNNING.value:
            self._agent.enter(Stage.RUNNING)

    def _closed(self, lease: Lease, reason: str) -> None:
        if lease in self._waiting_for_facts:
            self._waiting_for_facts.remove(lease)
        now = self._loop.time()
        self._seen = replace(self._seen, leases=len(self._link.leases), silent_since=now)
        if self._seen.over is None and self._not_ready == "":
            logger.warning("lease of launcher %s is lost: %s", lease.launcher, reason)
        self._agent.changed.set()

    async def _drain(self) -> None:
        """End ranks first, then sshd."""
        agent = self._agent
        self._become(ready=False)
        agent.enter(Stage.ENDING)
        self._link.stop()
        listening = self._sshd.child if self._sshd is not None else None
        if listening is not None and listening.running:
            family = [listening.pid, *processes.descendants(listening.pid)]
            spare = {pid for pid in family if processes.name(pid).startswith("sshd")}
            await agent.ladder.sweep(spare)
        if self._sshd is not None:
            self._sshd.stop()

    def _details(self) -> dict[str, object]:
        return {
            "ready": not self._not_ready,
            "not_ready_reason": self._not_ready,
            "ssh_port": self._port,
            "leases": [lease.launcher for lease in self._link.leases],
        }

    def _families(self) -> Sequence[metrics.Family]:
        restarts = self._sshd.restarts if self._sshd is not None else 0
        return (
            metrics.gauge("mpiboot_ready", "1 when a login works.", float(not self._not_ready)),
            metrics.gauge(
                "mpiboot_leases", "Launchers that hold this worker.", len(self._link.leases)
            ),
            metrics.counter(
                "mpiboot_sshd_restarts_total", "How often sshd was started again.", restarts
            ),
            metrics.counter(
                "mpiboot_sshd_rejected_logins_total", "Logins that sshd refused.", self._rejected
            ),
        )


async def work(agent: Agent) -> Outcome:
    """Run the worker role."""
    return await Worker(agent).run()
