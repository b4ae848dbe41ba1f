"""Stand in for a launcher that the job's command calls by its name: reword, then become the real one.

`PYTHON -I -S standin.py DATA NAME ARGS…`, called by the scripts that `plan.standins` renders.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any, NoReturn

sys.path.append(str(Path(__file__).resolve().parents[2]))

from mpiboot.plan import dvm, ownargs, ownjob, owntools, standins
from mpiboot.plan.ownjob import Job
from mpiboot.plan.ownrun import HOROVODRUN
from mpiboot.plan.standins import ASIDE

_CANNOT_RUN, _NOT_FOUND = 126, 127


def main() -> NoReturn:
    """Become the real program."""
    data, name, *args = sys.argv[1:]
    document = json.loads(Path(data).read_text())
    job = Job.of_plain(document["job"])
    env = unpacked(os.environ)
    notes: tuple[str, ...] = ()
    if name == standins.SSH:
        args = owntools.ssh(args, job)
    elif name == HOROVODRUN:
        rewritten = owntools.horovodrun(args, job)
        args, notes = list(rewritten.args), rewritten.notes
    else:
        changes = ownjob.environment(job, env)
        env |= changes.variables
        rewritten = ownargs.translate(args, job, env)
        env |= rewritten.variables
        args, notes = list(rewritten.args), (*changes.notes, *rewritten.notes)
        env["PATH"] = without(env.get("PATH", os.defpath), document["bin"])
    say(notes, as_json=job.json_log)
    if job.dvm and name in dvm.NAMES:
        within(job, document["programs"][name]["path"], args, env)
    ignored = job.ignore_sigpipe and name not in (standins.SSH, HOROVODRUN)
    restored = (signal.SIGXFSZ,) if ignored else (signal.SIGPIPE, signal.SIGXFSZ)
    become(document["programs"][name], args, env, restored)


def within(job: Job, mpirun: str, args: list[str], env: dict[str, str]) -> None:
    """Run this call in the daemons that stay, and end as it did; return where it must be another one."""
    call = dvm.call(args, job)
    why, later = call.unfit, ""
    if not why:
        from mpiboot.link.dvm import Dvm, NeverError, UnfitError  # noqa: PLC0415 - others need none

        try:
            sys.exit(Dvm(job.dvm, job.prte, mpirun, env).run(call.args))
        except NeverError as fault:
            why, later = str(fault), ", as all later ones"
        except UnfitError as fault:
            why = str(fault)
    if why:
        say(
            (f"this mpirun starts daemons of its own{later}; the DVM: {why}",), as_json=job.json_log
        )


def unpacked(environ: os._Environ[str]) -> dict[str, str]:
    """Give back what the script has put aside."""
    env = {name: value for name, value in environ.items() if not name.startswith(ASIDE)}
    aside = {n.removeprefix(ASIDE): v for n, v in environ.items() if n.startswith(ASIDE)}
    return env | aside


def without(path: str, directory: str) -> str:
    """Take the stand-ins off a search path: hydra looks for itself there, and ranks need none."""
    return os.pathsep.join(part for part in path.split(os.pathsep) if part != directory)


def say(notes: tuple[str, ...], *, as_json: bool) -> None:
    """Log what was changed; the launcher is the one that speaks."""
    if not notes:
        return
    from mpiboot import log  # noqa: PLC0415 - most calls have nothing to say

    log.configure("launcher", as_json=as_json)
    for note in notes:
        log.logger.info("%s", note)


def become(
    real: dict[str, Any], args: list[str], env: dict[str, str], restored: tuple[signal.Signals, ...]
) -> NoReturn:
    """Execute the real program, with signals restored of those that Python ignores."""
    for number in restored:
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execve(real["path"], [real["argv0"], *args], env)  # noqa: S606 - argv is a list
    except OSError as fault:
        sys.stderr.write(f"[mpiboot launcher] error: {real['path']}: {fault.strerror}\n")
        sys.exit(_NOT_FOUND if isinstance(fault, FileNotFoundError) else _CANNOT_RUN)


if __name__ == "__main__":
    main()
