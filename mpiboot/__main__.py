"""Latch signals before anything else is imported, then hand over to the command line."""

from __future__ import annotations

from mpiboot.runtime import latch

latch.install()

import gc  # noqa: E402 - a TERM that arrives during these imports must not be lost
import os  # noqa: E402
import sys  # noqa: E402

# Imports make much and leave no garbage: looking for some costs a tenth of the start-up time.
gc.disable()

from mpiboot.cli import hiding, run  # noqa: E402


def main() -> None:
    """Run the command line and exit with its code."""
    argv, env = sys.argv[1:], dict(os.environ)
    hiding.hide(argv, env)
    sys.exit(run(argv, env))


if __name__ == "__main__":
    main()
