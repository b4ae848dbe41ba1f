#!/usr/bin/python3
"""What an elastic horovodrun does: reads the script, logs in to whom it names, ends when told.

Called `horovodrun --host-discovery-script SCRIPT … END`: it ends with 0 once the file END exists.
It says `+ NAME:SLOTS HOSTNAME` for each that comes, `- NAME` for each that goes.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

SSH = ("ssh", "-o", "PasswordAuthentication=no", "-o", "StrictHostKeyChecking=no")

script = sys.argv[sys.argv.index("--host-discovery-script") + 1]
end = Path(sys.argv[-1])
held: dict[str, subprocess.Popen[bytes]] = {}

while not end.exists():
    named = subprocess.run([script], stdout=subprocess.PIPE, check=True).stdout.decode().split()
    slots = dict(line.split(":") for line in named)
    for name in held.keys() - slots.keys():
        held.pop(name).kill()
        os.write(1, f"- {name}\n".encode())
    for name in slots.keys() - held.keys():
        held[name] = subprocess.Popen(
            [*SSH, name, "hostname; exec sleep 1000"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        )
        said = held[name].stdout.readline().decode().strip()  # type: ignore[union-attr]
        os.write(1, f"+ {name}:{slots[name]} {said}\n".encode())
    time.sleep(0.1)
for one in held.values():
    one.kill()
