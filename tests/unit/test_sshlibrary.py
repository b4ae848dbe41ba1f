"""paramiko is loaded without what nobody uses, and what was hidden meanwhile works afterwards."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib import metadata
from typing import Any

import pytest

from mpiboot.link import sshlibrary

UNUSED = ("invoke", "email", "zipfile", "importlib.metadata")


def _asked(code: str) -> Any:
    """Run code in a Python of its own; it prints JSON."""
    argv = [sys.executable, "-Ic", f"import sys, json\n{code}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


def test_what_serves_no_login_is_not_loaded() -> None:
    code = f"""
from mpiboot.link import sshlibrary
sshlibrary.load()
print(json.dumps([name for name in {UNUSED} if sys.modules.get(name)]))
"""
    assert _asked(code) == []


def test_the_metadata_of_packages_is_whole_afterwards() -> None:
    code = """
from mpiboot.link import sshlibrary
sshlibrary.load()
import paramiko
from importlib import metadata
print(json.dumps([paramiko.__version__, metadata.version("paramiko"), metadata.files("paramiko") != []]))
"""
    number = metadata.version("paramiko")
    assert _asked(code) == [number, number, True]


def test_who_has_loaded_the_metadata_keeps_it() -> None:
    code = """
from importlib import metadata
from mpiboot.link import sshlibrary
sshlibrary.load()
print(json.dumps(sys.modules["importlib.metadata"] is metadata))
"""
    assert _asked(code) is True


def test_threads_that_load_at_once_all_find_it_whole() -> None:
    code = """
from concurrent.futures import ThreadPoolExecutor
from mpiboot.link import sshlibrary
def one(_):
    sshlibrary.load()
    import paramiko
    return hasattr(paramiko, "Transport") and hasattr(paramiko, "PKey")
with ThreadPoolExecutor(8) as pool:
    print(json.dumps(list(pool.map(one, range(8)))))
"""
    assert _asked(code) == [True] * 8


@pytest.mark.parametrize("name", ["paramiko", "cryptography", "pytest"])
def test_a_version_is_the_installers(name: str) -> None:
    assert sshlibrary.version(name) == metadata.version(name)


def test_a_package_that_is_not_there_has_no_version() -> None:
    assert sshlibrary.version("no_such_package") == "unknown"
