"""Say the environment of each rank as one line of JSON: hostname → name → value in base64."""

import base64
import json
import os

values = {name.decode(): base64.b64encode(value).decode() for name, value in os.environb.items()}
os.write(1, (json.dumps({os.uname().nodename: values}) + "\n").encode())
