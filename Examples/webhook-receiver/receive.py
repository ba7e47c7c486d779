#!/usr/bin/env python3
"""Receives the commits that `tandem serve --webhook` sends, and verifies their signatures.

usage: receive.py SECRET_FILE LOG [PORT]

It appends each body to the file LOG, one per line, and answers 204 when that is on the disk. A delivery may come more
than once: its `revision` tells whether it is known.
"""
import hashlib
import hmac
import http.server
import os
import sys
import time

MAX_AGE = 300  # seconds


def is_genuine(secret: bytes, signature: str, body: bytes) -> bool:
    """True if a request of the last minutes was signed with the secret."""
    fields = dict(part.split("=", 1) for part in signature.split(",") if "=" in part)
    sent = fields.get("t", "")
    if not (sent.isascii() and sent.isdigit()) or abs(time.time() - int(sent)) > MAX_AGE:
        return False
    expected = hmac.new(secret, sent.encode() + b"." + body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), fields.get("v1", "").encode())


def main() -> None:
    secret = open(sys.argv[1], "rb").read().rstrip(b"\r\n")
    log = open(sys.argv[2], "ab")

    class Receiver(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            genuine = is_genuine(secret, self.headers.get("Tandem-Signature", ""), body)
            if genuine:
                log.write(body + b"\n")
                log.flush()
                os.fsync(log.fileno())
            self.send_response(204 if genuine else 401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_) -> None:
            pass

    port = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
    print(f"http://127.0.0.1:{server.server_port}/", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
