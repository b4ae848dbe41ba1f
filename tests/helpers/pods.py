"""Pods for tests: `pytest_plugins = ("tests.helpers.pods",)` gives `cluster` and `root`."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from mpiboot.local.cluster import Cluster


@pytest.fixture(scope="session")
def root() -> None:
    """Skip where pods cannot be made."""
    if os.geteuid() != 0:
        pytest.skip("pods are namespaces: run as root")


@pytest.fixture
def cluster(root: None) -> Iterator[Cluster]:
    """A cluster without pods, with a directory of its own; torn down always."""
    with Cluster() as made:
        yield made
