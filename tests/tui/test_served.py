"""The server of `jitrl serve` with visitors who do not behave. What a visitor gets here is a small program."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys
from pathlib import Path

import pytest

pytest.importorskip("textual_serve", reason="the extra `serve` is not installed")

from aiohttp import ClientSession, WSServerHandshakeError
from textual_serve.download_manager import DownloadManager

from jitrl_tui.served import server

TOKEN = "0123456789abcdef"
BEGIN = "import sys, time, signal\nout = sys.stdout.buffer\nout.write(b'__GANGLION__\\n')\nout.flush()\n"
ENDLESS = (
    "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    "while True: out.write(b'D' + (65536).to_bytes(4, 'big') + bytes(65536))\n"
)
ECHO = (
    "while piece := sys.stdin.buffer.read(5):\n"
    "    size = int.from_bytes(piece[1:], 'big')\n"
    "    data = sys.stdin.buffer.read(size)\n"
    "    if b'quit' in data: break\n"
    "    told = piece[:1] + str(size).encode() + b' ' + data[:100] + data[-6:]\n"
    "    out.write(b'D' + len(told).to_bytes(4, 'big') + told)\n"
    "    out.flush()\n"
)


@contextlib.asynccontextmanager
async def serving(program, names=("localhost",)):
    """Serve a program; yield the address without the last slash, and the port."""
    listening = socket.create_server(("127.0.0.1", 0))
    port = listening.getsockname()[1]
    ready = asyncio.Event()
    one = server.TokenServer([sys.executable, "-c", BEGIN + program], listening, TOKEN, names, 2, ready.set)
    running = asyncio.create_task(one._serve())
    await ready.wait()
    try:
        yield f"http://127.0.0.1:{port}/{TOKEN}", port
    finally:
        running.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await running


def children():
    """Return the programs that this process has begun."""
    return {pid for file in Path("/proc/self/task").glob("*/children") for pid in file.read_text().split()}


async def until(true):
    """Wait until something is so."""
    async with asyncio.timeout(60):
        while not true():
            await asyncio.sleep(0.01)


@pytest.fixture
def hasty(monkeypatch):
    """Wait for nobody as long as usual."""
    for module, name in ((server, "_QUIT_S"), (server, "_END_S"), (server, "_IDLE_S"), (server, "_CLOSE_S")):
        monkeypatch.setattr(module, name, 0.1)


async def _knock(port):
    """Open a websocket and read nothing."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=1)
    writer.write(
        f"GET /{TOKEN}/ws HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n".encode()
    )
    return reader, writer


@pytest.mark.parametrize("leaves", [False, True])
def test_no_process_outlives_a_visitor_who_never_reads(leaves, hasty):
    async def visit():
        before = children()
        async with serving(ENDLESS) as (_, port):
            _, writer = await _knock(port)
            await until(lambda: children() - before)
            if leaves:
                writer.transport.abort()
            await until(lambda: not children() - before)

    asyncio.run(visit())


def test_silent_connections_are_closed_and_one_address_gets_only_so_many(monkeypatch):
    monkeypatch.setattr(server, "HEAD_S", 0.3)
    monkeypatch.setattr(server, "MOST", 3)

    async def visit():
        async with serving(ECHO) as (url, port):
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
            silent[0][1].write(b"GET / HTTP/1.1\r\nHost: x")
            reader, _ = await asyncio.open_connection("127.0.0.1", port)
            with contextlib.suppress(ConnectionError):
                assert await reader.read() == b""  # at once: there are three
            for reader, _ in silent:
                with contextlib.suppress(ConnectionError):
                    assert await reader.read() == b""
            async with ClientSession() as client, client.get(f"{url}/") as answer:
                assert answer.status == 200

    asyncio.run(asyncio.wait_for(visit(), 60))


def test_malformed_messages_are_ignored_and_pasted_megabytes_are_cut():
    async def visit():
        async with serving(ECHO) as (url, _), ClientSession() as client:  # noqa: SIM117
            async with client.ws_connect(f"{url}/ws?width=-5&height=99999999") as socket:
                bad = ("", "{}", "7", "[]", '["resize"]', '["resize", 3]', '["resize", {"width": 80}]', '["stdin", 5]',
                       '["resize", {"width": "x", "height": null}]', "[" * 100_000,
                       '["resize", {"width": 1e999, "height": 1}]')  # fmt: skip
                for text in bad:
                    await socket.send_str(text)
                await socket.send_bytes(b"x")
                await socket.send_json(["resize", {"width": 10**9, "height": -1}])
                assert b'{"type": "resize", "width": 1000, "height": 5}' in (await socket.receive()).data
                await socket.send_json(["stdin", "\x1b[200~" + "é" * 5_000_000 + "\x1b[201~"])
                told = (await socket.receive()).data
                assert int(told[1:].split()[0]) < 200_000
                assert told.endswith(b"\x1b[201~")
                await socket.send_json(["stdin", "\ud800"])
                assert (await socket.receive()).data.startswith(b"D1 ?")

    asyncio.run(asyncio.wait_for(visit(), 60))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:80", "Origin": "http://evil.example:80"}, 403),
        ({"Origin": "http://evil.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Host": "localhost:7"}, 200),
        ({"Host": "LocalHost:7", "Origin": "http://LocalHost:7"}, 200),
        ({"Host": "[::1]:7"}, 200),
        ({"Host": "our.example"}, 200),
    ],
)
def test_pages_of_other_hosts_are_refused(headers, status):
    async def visit():
        async with serving(ECHO, ("localhost", "our.example")) as (url, _), ClientSession() as client:
            async with client.get(f"{url}/", headers=headers) as answer:
                assert answer.status == status
            if status == 403:
                with pytest.raises(WSServerHandshakeError) as refused:
                    await client.ws_connect(f"{url}/ws", headers=headers)
                assert refused.value.status == 403

    asyncio.run(asyncio.wait_for(visit(), 60))


def test_a_visit_ends_when_its_process_does():
    async def visit():
        async with serving("import os\nos.kill(os.getpid(), 9)\n") as (url, _), ClientSession() as client:  # noqa: SIM117
            async with client.ws_connect(f"{url}/ws") as socket:
                assert (await socket.receive()).type.name == "CLOSE"

    asyncio.run(asyncio.wait_for(visit(), 60))


def test_a_visit_ends_where_its_process_was_gone_before_anything_was_read():
    closed = []

    async def nothing(*_):
        pass

    async def close():
        closed.append(True)

    async def go():
        visitor = server.Visitor(
            [sys.executable, "-c", ""], write_bytes=nothing, write_str=nothing, close=close,
            download_manager=DownloadManager(),
        )  # fmt: skip
        process = await visitor._open_app_process()
        await process.wait()
        await until(process.stdout.at_eof)
        await visitor.run()

    asyncio.run(asyncio.wait_for(go(), 60))
    assert closed
