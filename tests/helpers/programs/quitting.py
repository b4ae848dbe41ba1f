"""Stand for a mesh's proxy: say `listening`, and print the path of every POST."""

import sys
from http.server import BaseHTTPRequestHandler, HTTPServer


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        sys.stdout.write(f"{self.path}\n")
        sys.stdout.flush()
        self.send_response(200)
        self.end_headers()


with HTTPServer(("", int(sys.argv[1])), Handler) as server:
    sys.stderr.write("listening\n")
    server.serve_forever()
