"""Latch signals before anything else is imported, then hand over to the command line."""

from __future__ import annotations

from mpiboot.runtime import latch

latch.install()

import gc  # noqa: E402 - a TERM that arrives during these imports must not be lost
import sys  # noqa: E402

# Imports make much and leave no garbage: looking for some costs a tenth of the start-up time.
gc.disable()

from mpiboot.cli import run  # noqa: E402


def main() -> None:
    """Run the command line and exit with its code."""
    sys.exit(run(sys.argv[1:]))


if __name__ == "__main__":
    main()
