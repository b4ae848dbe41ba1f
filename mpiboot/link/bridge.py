"""Carry bytes between an SSH session and the agent's socket: sshd runs this as its subsystem.

Started by file name with `-I -S`, so it may import nothing but small parts of the standard library.
A launcher waits for it: `socket` would double the time until it runs, its C half is all it needs.
"""

import _socket
import os
import select
import sys

_CHUNK = 65536


def main() -> int:
    """Copy both ways until either end closes."""
    agent = _socket.socket(_socket.AF_UNIX)
    agent.connect(sys.argv[1])
    routes = {0: agent.fileno(), agent.fileno(): 1}
    watch = select.poll()
    for source in routes:
        watch.register(source, select.POLLIN)
    while True:
        for source, _ in watch.poll():
            chunk = os.read(source, _CHUNK)
            if not chunk:
                return 0
            try:
                while chunk:
                    chunk = chunk[os.write(routes[source], chunk) :]
            except OSError:
                if source:
                    raise
                watch.unregister(source)  # the agent has closed; its last word is still to be read


if __name__ == "__main__":
    try:
        sys.exit(main())
    except OSError:
        # Either end went away; the agent or the launcher tells the story.
        sys.exit(1)
