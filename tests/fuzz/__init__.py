"""Fuzz targets for what comes from outside: `python -m tests.fuzz TARGET --seconds N`; `make fuzz`.

A target is a module with SEEDS, real texts in short, and `judge`, which raises where any bytes bring
about more than a result within bounds or an error that is ours.
"""

TARGETS = ("hostfile", "keys", "link", "output")
