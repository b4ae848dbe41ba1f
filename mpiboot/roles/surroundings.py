"""What platforms judge by, read from this container; and the settings that are usual on the one found."""

from __future__ import annotations

import os
from collections.abc import Mapping

from mpiboot import platforms
from mpiboot.model import options
from mpiboot.model.options import Resolved
from mpiboot.model.settings import Settings
from mpiboot.platforms.protocol import Surroundings
from mpiboot.runtime import files


def seen(settings: Settings, env: Mapping[str, str]) -> Surroundings:
    """Read what platforms want to see."""
    texts = {path: files.read_text(path) for path in platforms.wanted_files(settings, env)}
    return Surroundings(
        env=env,
        files={path: text for path, text in texts.items() if text is not None},
        settings=settings,
        hostname=os.uname().nodename,
        uid=os.getuid(),
    )


def fitted(resolved: Resolved, env: Mapping[str, str]) -> Resolved:
    """Give settings of which the user said nothing what is usual on this platform."""
    told = platforms.suggest(seen(resolved.settings, env))
    return options.fit(resolved, {name: (each.value, each.why) for name, each in told.items()})
