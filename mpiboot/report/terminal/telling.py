"""A job on a stream: all of it once, or on a terminal's whole screen, or as lines of what changes."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TextIO

from rich.text import Text

from mpiboot.report.terminal import job as jobs
from mpiboot.report.terminal import screen
from mpiboot.report.terminal.document import Job
from mpiboot.report.terminal.full import FullScreen
from mpiboot.report.terminal.grid import Page

_UNBOUND = 1000  # columns of a stream that is no terminal: what reads it may cut lines itself
_CALM_S = 60.0


def once(job: Job, stream: TextIO, env: Mapping[str, str], *, short: bool = False) -> None:
    """Write a job below what stands on the screen.

    Args:
        job: the job.
        stream: where to.
        env: the environment.
        short: whether how it stands as a whole is enough.
    """
    columns, height = screen.size(stream, env)
    if not stream.isatty() and not env.get("COLUMNS"):
        columns = _UNBOUND
    page = screen.page(stream, env, columns=columns, height=height)
    made = jobs.head(job, page) if short else jobs.whole(job, page)
    lines = screen.rendered(made, stream, env, page)
    stream.write("".join(f"{line.rstrip()}\n" for line in lines))
    stream.flush()


class Watched:
    """A job that is followed to its end.

    Args:
        stream: where it is shown.
        env: the environment.
        every_s: how often it is asked for.
    """

    def __init__(self, stream: TextIO, env: Mapping[str, str], every_s: float) -> None:
        self._stream = stream
        self._env = env
        self._note = f"every {every_s:g} s; Ctrl-C ends this view, not the job"
        self._job: Job | None = None
        self._full = FullScreen(stream, env, self._lay_out)
        self._drawn = screen.moves(stream, env)
        self._said = ""
        self._said_at = 0.0

    def show(self, job: Job) -> None:
        """Show how it stands now."""
        self._job = job
        if self._drawn:
            self._full.draw()
        elif not job.ended:
            self._say(job)

    def resized(self) -> None:
        """Draw the same for a window of another size."""
        if self._drawn and self._job is not None:
            self._full.draw()

    def close(self) -> None:
        """Give the screen back."""
        self._full.close()

    def _lay_out(self, page: Page) -> list[Text]:
        return jobs.fitting(self._job, page, self._note) if self._job is not None else []

    def _say(self, job: Job) -> None:
        """Say a line when anything but the figures has changed, and now and then all the same."""
        page = Page(width=_UNBOUND, height=1, unicode=screen.unicode_fits(self._stream, self._env))
        said = jobs.sentence(job, page, used=False)
        now = time.monotonic()
        if said != self._said or now - self._said_at >= _CALM_S:
            self._said, self._said_at = said, now
            self._stream.write(f"{jobs.sentence(job, page)}\n")
            self._stream.flush()
