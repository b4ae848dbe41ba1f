"""The ways mpiboot can fail: a class owns an exit code and says what to change."""

from __future__ import annotations

import enum


class ExitCode(enum.IntEnum):
    """The agent's own exit codes; a job's code passes through unchanged.

    Kubernetes convention: below 128 a retry will not help, from 128 on it may.
    """

    OK = 0
    USAGE = 64
    CONFIG = 78
    NOT_EXECUTABLE = 126
    NOT_FOUND = 127
    NOT_READY = 240
    WORKER_LOST = 241
    LAUNCH_FAILED = 242
    FALSE_SUCCESS = 243
    DEADLINE = 244
    LAUNCHER_LOST = 245
    NEVER_USED = 246
    STALLED = 247
    INTERNAL = 250


EXIT_MEANINGS: dict[ExitCode, str] = {
    ExitCode.USAGE: "the command line is wrong",
    ExitCode.CONFIG: "configuration: unreadable key, empty hostfile, np beyond slots, bad setting",
    ExitCode.NOT_EXECUTABLE: "the command exists but cannot be executed",
    ExitCode.NOT_FOUND: "the command was not found",
    ExitCode.NOT_READY: "workers were not ready in time, or can never be",
    ExitCode.WORKER_LOST: "a worker was lost while the job ran",
    ExitCode.LAUNCH_FAILED: "start-up failed: mpirun's daemons (launcher), or sshd and its login (worker)",
    ExitCode.FALSE_SUCCESS: "mpirun said 0, the evidence says no",
    ExitCode.DEADLINE: "a deadline of the whole job passed",
    ExitCode.LAUNCHER_LOST: "the launcher fell silent and did not come back (worker)",
    ExitCode.NEVER_USED: "no launcher ever ran ranks here (worker)",
    ExitCode.STALLED: "no output and no progress for --stall-timeout",
    ExitCode.INTERNAL: "a fault in mpiboot itself",
}


class MpibootError(Exception):
    """A failure that ends the agent with one clear line.

    Args:
        message: what happened and what was expected.
        hint: what to change, as an imperative sentence; may be empty.
    """

    code: ExitCode = ExitCode.INTERNAL

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    def __str__(self) -> str:
        message = super().__str__()
        return f"{message}; {self.hint}" if self.hint else message


class UsageError(MpibootError):
    """The command line is wrong."""

    code = ExitCode.USAGE


class ConfigError(MpibootError):
    """A setting, a file or the combination of them cannot work."""

    code = ExitCode.CONFIG


class CannotRunError(MpibootError):
    """A program exists but cannot be executed."""

    code = ExitCode.NOT_EXECUTABLE


class NotFoundError(MpibootError):
    """A program does not exist."""

    code = ExitCode.NOT_FOUND


class NotReadyError(MpibootError):
    """Workers were not ready before the deadline, or never can be."""

    code = ExitCode.NOT_READY


class LaunchFailedError(MpibootError):
    """A part of the start-up that was said to work did not."""

    code = ExitCode.LAUNCH_FAILED


class DeadlineError(MpibootError):
    """The deadline of the whole job has passed."""

    code = ExitCode.DEADLINE


class ProblemsError(MpibootError):
    """Several independent problems, told at once.

    Args:
        problems: one line each, at least one.
        code: USAGE when any problem stands on the command line, else CONFIG.
    """

    def __init__(self, problems: list[str], *, code: ExitCode) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems
        self.code = code
