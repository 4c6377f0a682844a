"""An S3 server on loopback, in memory, for a program that reads its port from the first line.

    python s3_server.py BUCKET
"""

from __future__ import annotations

import sys
import urllib.request
from threading import Thread

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server


class _Handler(WSGIRequestHandler):
    def handle_expect_100(self) -> bool:
        """Says nothing: Werkzeug says it itself, and Amazon's client takes a second 100 for the answer."""
        return True


def main() -> None:
    """Serves until it is killed."""
    server = make_server(
        "127.0.0.1", 0, DomainDispatcherApplication(create_backend_app), threaded=True, request_handler=_Handler
    )
    Thread(target=server.serve_forever).start()
    bucket = urllib.request.Request(f"http://127.0.0.1:{server.server_port}/{sys.argv[1]}", method="PUT")
    urllib.request.urlopen(bucket, timeout=60).close()
    print(server.server_port, flush=True)


if __name__ == "__main__":
    main()
