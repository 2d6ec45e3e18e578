"""A real HTTP server on loopback that speaks the OpenAI protocol, well or in every bad way asked for."""

from __future__ import annotations

import contextlib
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Behaviour = Callable[["Handler", dict[str, Any]], None]


class Server:
    """What the tests hold: the address, the requests that came, and the behaviours to come.

    Behaviours in `script` are used up one a request; after them, `default` answers.
    """

    def __init__(self, port: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.connections: list[tuple[str, int]] = []
        """Where each request came from."""
        self.script: list[Behaviour] = []
        self.default: Behaviour = good
        self.pages: dict[str, dict[str, Any]] = {
            "/v1/models": {"object": "list", "data": [{"id": "test", "object": "model"}]}
        }
        """What is answered to GET, by path."""
        self.arrived = threading.Event()
        self.release = threading.Event()
        self.gone = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._http.daemon_threads = True
        self._http.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True)

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}/v1"

    @contextlib.contextmanager
    def running(self) -> Iterator[Server]:
        self._thread.start()
        try:
            yield self
        finally:
            self.release.set()
            self._http.shutdown()
            self._http.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are sent apart, and the second would wait for the first

    def log_message(self, *args: Any) -> None:
        pass

    @property
    def owner(self) -> Server:
        return self.server.owner  # type: ignore[attr-defined, no-any-return]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        owner = self.owner
        owner.requests.append(body)
        owner.connections.append(self.client_address)
        owner.headers.append({k.lower(): v for k, v in self.headers.items()})
        owner.arrived.set()
        behaviour = owner.script.pop(0) if owner.script else owner.default
        behaviour(self, body)

    def do_GET(self) -> None:
        page = self.owner.pages.get(self.path)
        self.send(404 if page is None else 200, page or {})

    def send(self, status: int, body: bytes | str | dict[str, Any], **headers: str) -> None:
        raw = json.dumps(body).encode() if isinstance(body, dict) else body
        raw = raw.encode() if isinstance(raw, str) else raw
        self.send_response(status)
        self.send_header("content-type", headers.pop("content_type", "application/json"))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(raw)))
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(raw)


# ------------------------------------------------------------------------------------ good behaviours


def reference_actions(body: dict[str, Any]) -> list[str]:
    text = body["messages"][1]["content"]
    return [a.strip() for a in text.rpartition("REFERENCE ACTIONS:**")[2].split(",")]


def reply(content: Any, **more: Any) -> Behaviour:
    """Answer with this message content."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": content, **more.get("message", {})}
        choice = {"index": 0, "message": message, "finish_reason": more.get("finish", "stop")}
        if "logprobs" in more:
            choice["logprobs"] = more["logprobs"]
        handler.send(200, {
            "id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
            "choices": [choice],
            **more.get("usage", {"usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}),
        })  # fmt: skip

    return behave


def good(handler: Handler, body: dict[str, Any]) -> None:
    """Propose the first three actions of the list, in the alphabet, with confidences 60, 30 and 10.

    Who asks whether JSON can be had (`engine.llm.calls.inquiry`) gets some.
    """
    if body.get("logprobs"):
        return index_tokens({"1": -0.2, "2": -1.9, "3": -4.0})(handler, body)
    if len(body["messages"]) == 1:
        return reply('{"answer": "yes"}')(handler, body)
    answer: dict[str, Any] = {"progress_analysis": "none", "next_objective": "win"}
    for i, (action, confidence) in enumerate(zip(sorted(reference_actions(body)), (60, 30, 10)), 1):  # noqa: B905
        answer |= {f"reasoning{i}": "because", f"option{i}": action, f"confidence{i}": confidence}
    return reply(json.dumps(answer | {"best_action": 1}))(handler, body)


def index_tokens(top: dict[str, float]) -> Behaviour:
    """Answer with an index token and these alternatives."""
    best = max(top, key=lambda t: top[t])
    listed = [{"token": t, "logprob": p, "bytes": None} for t, p in top.items()]
    content = [{"token": best, "logprob": top[best], "bytes": None, "top_logprobs": listed}]
    return reply(best, logprobs={"content": content})


def numbered_list(body: dict[str, Any]) -> list[str]:
    text = body["messages"][1]["content"].rpartition("REFERENCE ACTIONS:**")[2]
    return re.findall(r"^\d+\. (.*)$", text, re.MULTILINE)


# ------------------------------------------------------------------------------------- bad behaviours


def status(code: int, message: str = "no", kind: str = "error", **headers: str) -> Behaviour:
    """Answer with an error as OpenAI words them."""
    return lambda handler, body: handler.send(
        code, {"error": {"message": message, "type": kind, "code": kind, "param": None}}, **headers
    )


def refusing(wording: str, *names: str, field: bool = True, answer: Behaviour = good) -> Behaviour:
    """Refuse a request that has one of these parameters, with a text that names it, as reasoning models do.

    Args:
        wording: The text, with `{}` for the name.
        names: The parameters.
        field: Whether the error's field `param` names it, too.
        answer: Answers other requests.
    """

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        for name in names:
            if name in body:
                error = {"message": wording.format(name), "type": "invalid_request_error", "code": "unsupported",
                         "param": name if field else None}  # fmt: skip
                return handler.send(400, {"error": error})
        return answer(handler, body)

    return behave


def narrow(context: int, answer: Behaviour = good) -> Behaviour:
    """Refuse what does not fit into a context, as vLLM words it; four characters are a token."""

    def behave(handler: Handler, body: dict[str, Any]) -> None:
        prompt = sum(len(str(message["content"])) for message in body["messages"]) // 4
        wanted = body.get("max_tokens", 1)
        if prompt + wanted <= context:
            return answer(handler, body)
        text = (f"'max_tokens' or 'max_completion_tokens' is too large: {wanted}. This model's maximum context length "
                f"is {context} tokens and your request has {prompt} input tokens ({wanted} > {context} - {prompt})."
        )  # fmt: skip
        return handler.send(400, {"error": {"message": text, "type": "BadRequestError", "param": None, "code": 400}})

    return behave


def raw(body: str, code: int = 200, content_type: str = "application/json") -> Behaviour:
    """Answer with these bytes."""
    return lambda handler, _: handler.send(code, body, content_type=content_type)


def no_choices(handler: Handler, body: dict[str, Any]) -> None:
    handler.send(200, {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [],
                       "usage": {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}})  # fmt: skip


def drop(handler: Handler, body: dict[str, Any]) -> None:
    """Cut the connection without a word."""
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    handler.connection.close()
    handler.close_connection = True


def half(handler: Handler, body: dict[str, Any]) -> None:
    """Promise more bytes than are sent, then cut the connection."""
    handler.send_response(200)
    handler.send_header("content-type", "application/json")
    handler.send_header("content-length", "5000")
    handler.end_headers()
    handler.wfile.write(b'{"id": "x", "choices": [')
    handler.wfile.flush()
    handler.connection.shutdown(socket.SHUT_RDWR)
    handler.close_connection = True


def hang(handler: Handler, body: dict[str, Any]) -> None:
    """Say nothing until the test releases it or the client goes away."""
    owner = handler.owner
    handler.connection.settimeout(0.02)
    while not owner.release.is_set():
        try:
            if handler.connection.recv(1) == b"":
                owner.gone.set()
                break
        except TimeoutError:
            continue
        except OSError:
            owner.gone.set()
            break
    handler.close_connection = True


if __name__ == "__main__":
    from tests.llm.scripted import main

    main()
