from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue
from threading import Thread
from typing import Any

from typing_extensions import Self


@dataclass(frozen=True)
class Received:
    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """An answer of a server; without a status it closes the connection."""

    status: int | None = 200
    body: Any = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)


class LoopbackServer:
    """A server on a port of this machine."""

    def __init__(self) -> None:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_: object) -> None:
                pass

            def handle_any(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                received = Received(self.command, self.path, dict(self.headers), body)
                answer = outer.answer_to(received)
                if answer.status is None:
                    self.close_connection = True
                    return
                data = answer.body if isinstance(answer.body, bytes) else json.dumps(answer.body).encode()
                if answer.status in (204, 304):
                    data = b""
                self.send_response(answer.status)
                headers = {"Content-Type": "application/json", **answer.headers}
                for name, value in headers.items():
                    self.send_header(name, value)
                if answer.status not in (204, 304):
                    self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_DELETE = handle_any  # noqa: N815

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}"

    def answer_to(self, received: Received) -> Answer:
        raise NotImplementedError

    def __enter__(self) -> Self:
        Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


class ScriptedServer(LoopbackServer):
    """Stands for a relay, or what is in front of it: gives its answers in turn, the last one again and again."""

    def __init__(self) -> None:
        super().__init__()
        self.received: list[Received] = []
        self._answers: list[Answer] = []

    def gives(self, *answers: Answer) -> None:
        self._answers = list(answers)

    def answer_to(self, received: Received) -> Answer:
        # Another program may still call whatever had this port before.
        if "authorization" not in (name.lower() for name in received.headers):
            return Answer(404)
        self.received.append(received)
        return self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]


class CallbackReceiver(LoopbackServer):
    """Receives callbacks, and accepts each."""

    def __init__(self) -> None:
        super().__init__()
        self._callbacks: Queue[Received] = Queue()

    def answer_to(self, received: Received) -> Answer:
        self._callbacks.put(received)
        return Answer(204)

    def next(self) -> Received:
        """Waits for the next callback."""
        return self._callbacks.get(timeout=30)
