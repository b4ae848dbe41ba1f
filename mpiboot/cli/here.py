"""A whole job on this machine."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from mpiboot import log, platforms
from mpiboot.cli.sources import needed, resolve
from mpiboot.local import command
from mpiboot.model import options
from mpiboot.model.options import Resolved
from mpiboot.model.settings import specs
from mpiboot.model.spec import LOCAL
from mpiboot.runtime import keys


def local(argv: Sequence[str], env: Mapping[str, str]) -> int:
    """Run a whole job on this machine, in namespaces."""
    words, job = options.split_command(argv)
    resolved = resolve("local", words, env, LOCAL)
    settings = resolved.settings
    log.configure("local", level=settings.log_level, as_json=settings.log_format == "json")
    return command.run_local(
        workers=settings.workers or 2,
        slots=0 if settings.slots == "auto" else int(settings.slots),
        command=needed(job),
        agent=[sys.executable, "-I", "-m", "mpiboot"],
        launcher_options=_forwarded(resolved),
        environment=platforms.elsewhere(
            {name: value for name, value in env.items() if not name.startswith("MPIBOOT_")}
        ),
        secret=keys.new_secret(),
        page_port=settings.http_port if settings.page else 0,
    )


def _forwarded(resolved: Resolved) -> list[str]:
    """Hand the launcher's options on to the launcher of the pods, as given."""
    words: list[str] = []
    for spec in specs(LOCAL):
        value = getattr(resolved.settings, spec.name)
        if spec.name in ("workers", "slots") or resolved.origins[spec.name] == options.DEFAULT:
            continue
        match spec.kind:
            case "flag":
                words.append(spec.flag if value else spec.flag.replace("--", "--no-", 1))
            case "words":
                words += [f"{spec.flag}={word}" for word in value]
            case "pairs":
                words += [w for pair in value for w in (spec.flag, *pair.split("=", 1))]
            case _:
                words.append(f"{spec.flag}={value}")
    return words
