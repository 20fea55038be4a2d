"""Where a marketplace publishes its keys."""

import http.server
import json
import threading
from typing import Any

Json = dict[str, Any]


class KeyServer:
    """A web server on this machine that gives out a key set and counts who asks."""

    def __init__(self, document: Json) -> None:
        self.asked: list[str] = []
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.path)
                self.send_response(200)
                self.end_headers()
                self.wfile.write(json.dumps(document).encode())

            def log_message(self, *_: Any) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/jwks.json"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
