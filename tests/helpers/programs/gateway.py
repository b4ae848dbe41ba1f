"""Stand in for a Pushgateway: `gateway.py FILE STATUS`; appends each request to FILE as a line of JSON.

STATUS is what it answers; 0: it takes the request and never answers.
"""

import json
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

path, status = Path(sys.argv[1]), int(sys.argv[2])


class Gateway(BaseHTTPRequestHandler):
    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        heard = {"path": self.path, "headers": dict(self.headers), "body": body}
        with path.open("a") as file:
            file.write(json.dumps(heard) + "\n")
        if status == 0:
            threading.Event().wait()
        self.send_response(status)
        self.end_headers()
        if status >= 400:
            self.wfile.write(b"metrics of yesterday\nmore about it\n")

    def log_message(self, _form, *_words):  # noqa: ANN002 - as the base has it
        """Say nothing."""


server = ThreadingHTTPServer(("", 9091), Gateway)
sys.stdout.write("up\n")
sys.stdout.flush()
server.serve_forever()
