"""The agent's loop loads no TLS, and https works all the same."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from mpiboot.runtime import plainloop


def _asked(code: str) -> Any:
    """Run code in a Python of its own; it prints JSON."""
    argv = [sys.executable, "-c", f"import sys, json\n{code}"]
    done = subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60)
    return json.loads(done.stdout)


@pytest.mark.parametrize("role", ["worker", "launcher"])
def test_a_role_loads_without_tls(role: str):
    code = f"""
from mpiboot.runtime import plainloop
plainloop.load()
from mpiboot.roles import agent, surroundings, serveduser, {role}
print(json.dumps([name for name in ("ssl", "_ssl") if name in sys.modules]))
"""
    assert _asked(code) == []


# What an idle worker has no use for, and kept for as long as it lived: 6 MiB of 26.
UNUSED = (
    "paramiko", "cryptography", "prometheus_client", "psutil", "yaml",
    "rich", "pygments", "markdown_it", "_hashlib", "argparse", "datetime", "difflib", "_ctypes", "shutil", "_lzma", "_bz2", "random",
    "mpiboot.model.flags", "mpiboot.link.client", "mpiboot.roles.rshagent",
    "concurrent.futures.thread", "mpiboot.plan.networks", "mpiboot.roles.stalling",
)  # fmt: skip


def test_an_idle_worker_keeps_nothing_that_it_does_not_use():
    """As the command line loads it: with no words, all settings from the environment."""
    code = f"""
import os
from mpiboot.cli import byrole
from mpiboot.runtime import headstart
headstart.begin = lambda: None
import mpiboot.roles.agent
def stop(*_):
    print(json.dumps([name for name in {UNUSED!r} if name in sys.modules]))
    sys.stdout.flush()
    os._exit(0)
mpiboot.roles.agent.run = stop
byrole.worker([], {{}})
"""
    assert _asked(code) == []


def test_https_works_in_a_process_whose_loop_has_none():
    code = """
from mpiboot.runtime import plainloop
plainloop.load()
import asyncio
async def answer():
    server = await asyncio.start_server(lambda r, w: w.close(), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        got = await reader.read()
        writer.close()
        return got.decode()
plain = asyncio.run(answer())
import socket, ssl, threading, urllib.error, urllib.request
listening = socket.create_server(("127.0.0.1", 0))
hello = []
def serve():
    taken, _ = listening.accept()
    hello.append(taken.recv(1)[0])
    taken.close()
served = threading.Thread(target=serve)
served.start()
try:
    urllib.request.urlopen("https://127.0.0.1:%d/" % listening.getsockname()[1], timeout=20)
except (urllib.error.URLError, OSError) as fault:
    why = str(fault)
served.join()
context = ssl.create_default_context()
print(json.dumps({"plain": plain, "hello": hello, "checked": context.check_hostname, "why": why}))
"""
    answer = _asked(code)
    assert answer["plain"] == ""
    assert answer["hello"] == [22], "the client's first byte is a TLS handshake record"
    assert answer["checked"]
    assert "unknown url type" not in str(answer["why"])


def test_what_is_loaded_stays_as_it_is():
    import asyncio  # noqa: PLC0415
    import ssl  # noqa: PLC0415

    plainloop.load()
    assert sys.modules["ssl"] is ssl
    assert sys.modules["asyncio"] is asyncio
