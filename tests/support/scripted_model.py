"""A chat-completions endpoint on loopback that answers by script and records what it was asked."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True)
class Say:
    """The model answers with text."""

    text: str


@dataclass(frozen=True, slots=True)
class Call:
    """The model calls one tool."""

    tool: str
    arguments: dict[str, Any]


Reply: TypeAlias = Say | Call


@dataclass
class ScriptedModel:
    """The endpoint's script and record.

    Requests that offer tools are turns of the agent and take the next reply; a request beyond the script, or one
    without tools (a title, a summary), gets "ok".
    """

    url: str
    _replies: deque[Reply] = field(default_factory=deque)
    _requests: list[dict[str, Any]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def script(self, *replies: Reply) -> None:
        """Add replies to the script."""
        with self._lock:
            self._replies.extend(replies)

    @property
    def turns(self) -> list[dict[str, Any]]:
        """The bodies of the requests that offered tools, in order."""
        with self._lock:
            return [body for body in self._requests if body.get("tools")]

    @property
    def unused(self) -> int:
        """How many replies nobody asked for."""
        with self._lock:
            return len(self._replies)

    def answer(self, body: dict[str, Any]) -> Reply:
        """Record a request and take its reply."""
        with self._lock:
            self._requests.append(body)
            return self._replies.popleft() if body.get("tools") and self._replies else Say("ok")


@contextmanager
def scripted_model(*replies: Reply) -> Iterator[ScriptedModel]:
    """Serve a script on a free port of the loopback interface until the block ends."""

    class Handler(_Handler):
        model: ScriptedModel

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    Handler.model = ScriptedModel(url=f"http://127.0.0.1:{server.server_port}/v1")
    Handler.model.script(*replies)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield Handler.model
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


class _Handler(BaseHTTPRequestHandler):
    model: ScriptedModel
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: Any) -> None:
        """Keep the test's output clean."""

    def do_GET(self) -> None:
        """List the one model there is, or nothing."""
        if self.path.rstrip("/").endswith("/models"):
            only = {"id": "scripted", "object": "model", "context_length": 131072}
            self._send_json({"object": "list", "data": [only]})
        else:
            self._send_json({"error": {"message": "not here"}}, status=404)

    def do_POST(self) -> None:
        """Answer a chat completion, as one document or as server-sent events."""
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.path.endswith("/chat/completions"):
            self._send_json({"error": {"message": "not here"}}, status=404)
            return
        reply = self.model.answer(body)
        if body.get("stream"):
            self._send_events(_chunks(reply))
        else:
            self._send_json(_completion(reply))

    def _send_json(self, document: dict[str, Any], *, status: int = 200) -> None:
        payload = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _send_events(self, chunks: Iterable[dict[str, Any]]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for chunk in chunks:
            self.wfile.write(b"data: " + json.dumps(chunk).encode() + b"\n\n")
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


_USAGE = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}


def _tool_call(call: Call) -> dict[str, Any]:
    function = {"name": call.tool, "arguments": json.dumps(call.arguments)}
    return {"id": f"call_{abs(hash((call.tool, function['arguments'])))}", "type": "function", "function": function}


def _completion(reply: Reply) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    if isinstance(reply, Say):
        message["content"] = reply.text
    else:
        message["tool_calls"] = [_tool_call(reply)]
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    return {**_envelope("chat.completion"), "choices": [choice], "usage": _USAGE}


def _chunks(reply: Reply) -> Iterator[dict[str, Any]]:
    delta: dict[str, Any] = {"role": "assistant"}
    if isinstance(reply, Say):
        delta["content"] = reply.text
    else:
        delta["tool_calls"] = [{"index": 0, **_tool_call(reply)}]
    head = _envelope("chat.completion.chunk")
    yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": _finish(reply)}]}
    yield {**head, "choices": [], "usage": _USAGE}


def _envelope(kind: str) -> dict[str, Any]:
    return {"id": "chatcmpl-scripted", "object": kind, "created": 1_700_000_000, "model": "scripted"}


def _finish(reply: Reply) -> str:
    return "stop" if isinstance(reply, Say) else "tool_calls"
