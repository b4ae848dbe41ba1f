"""Keep the discovery script current while workers come and go."""

from __future__ import annotations

import asyncio
from pathlib import Path

from mpiboot.errors import ConfigError
from mpiboot.log import logger
from mpiboot.model.settings import Settings
from mpiboot.plan import discovery
from mpiboot.roles.gathering import Gathering
from mpiboot.runtime import files

_SOON_S = 0.05
_SHARE = 20


class Discovery:
    """The script that names the live workers.

    Args:
        path: where it is.
        gathering: knows who is live.
        settings: the user's.
        own_hostname: this container's hostname.

    Attributes:
        members: those who take part; None while that is not decided: all are named.

    Raises:
        ConfigError: the script cannot be written.
    """

    def __init__(
        self, path: str, gathering: Gathering, settings: Settings, own_hostname: str
    ) -> None:
        self._path = Path(path)
        self._gathering = gathering
        self._settings = settings
        self._own_hostname = own_hostname
        self._text = ""
        self._loop = asyncio.get_running_loop()
        self._due: asyncio.TimerHandle | None = None
        self._took_s = 0.0
        self.members: set[str] | None = None
        try:
            self._write()
        except OSError as fault:
            raise ConfigError(
                f"cannot write the discovery script {path}: {fault.strerror or fault}",
                hint="check --discovery-script",
            ) from fault

    def add(self, name: str) -> None:
        """Let a host take part."""
        if self.members is not None:
            self.members.add(name)
        self.update()

    def drop(self, name: str) -> None:
        """Let a host take part no more."""
        if self.members is not None:
            self.members.discard(name)
        self.update()

    def update(self) -> None:
        """Write the script anew soon; readers see the old one or the new one.

        Thousands that come at once are written together, a small part of the time.
        """
        if self._due is None:
            pause_s = max(_SOON_S, _SHARE * self._took_s)
            self._due = self._loop.call_later(pause_s, self._flush)

    def _flush(self) -> None:
        self._due = None
        begun = self._loop.time()
        try:
            self._write()
        except OSError as fault:
            logger.warning("the discovery script is not current any more: %s", fault)
        self._took_s = self._loop.time() - begun

    def _write(self) -> None:
        seen = list(self._gathering.seen.values())
        nodes = discovery.live(seen, self._settings, self._own_hostname, self.members)
        text = discovery.script(nodes)
        if text != self._text:
            files.write(self._path, text, mode=discovery.MODE)
            self._text = text
