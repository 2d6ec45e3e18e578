"""Fetching from a real server on loopback, good and bad."""

from __future__ import annotations

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.errors import GameError, MissingError, UsageError
from engine.games.catalogue import find_game
from engine.games.fetch import RELEASES, fetch
from jitrl_tui.cli import main


@pytest.fixture
def server():
    files: dict[str, bytes] = {}

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            body = files.get(self.path)
            self.send_response(200 if body is not None else 404)
            self.end_headers()
            self.wfile.write(body or b"")

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}", files
    server.shutdown()
    server.server_close()


@pytest.fixture
def raw(games_folder):
    padded = (games_folder / "zork1.z5").read_bytes()
    return padded[: len(padded) - len(RELEASES["zork1"].padding)]


def test_the_release_is_padded_checked_and_found_again(server, raw, tmp_path, games_folder):
    address, files = server
    files["/zork1/34cc828c4fa3b5e2581ea24c43bb8acb386d25d0/zork1.zip"] = raw
    told: list[str] = []
    path = fetch("zork1", tmp_path, told.append, address)
    assert path.read_bytes() == (games_folder / "zork1.z5").read_bytes()
    story = find_game("zork1", saves=tmp_path)
    assert (story.supported, story.shipped) == (True, False)
    files.clear()
    assert fetch("zork1", tmp_path, told.append, address) == path
    assert "already there" in told[-1]


def test_another_build_is_refused_and_nothing_is_kept(server, raw, tmp_path):
    address, files = server
    files["/zork1/34cc828c4fa3b5e2581ea24c43bb8acb386d25d0/zork1.zip"] = raw[:-1] + b"\1"
    with pytest.raises(GameError, match="not the release"):
        fetch("zork1", tmp_path, print, address)
    assert list((tmp_path / "games").iterdir()) == []


def test_offline_and_missing_are_told(server, tmp_path):
    address, _ = server
    with pytest.raises(MissingError, match="answered 404"):
        fetch("zork1", tmp_path, print, address)
    with pytest.raises(MissingError, match="cannot reach"):
        fetch("zork1", tmp_path, print, "http://127.0.0.1:9")
    with pytest.raises(UsageError, match="only zork1 and zork3"):
        fetch("adventure", tmp_path, print, address)


def test_the_command_says_it_in_one_line_and_ends_with_3(tmp_path, capsys):
    assert main(["games", "fetch", "zork1", "--from", "http://127.0.0.1:9", "--saves", str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines()[-1].startswith("jitrl: cannot reach")


def test_the_list_tells_where_games_are_from_and_what_is_known_of_them(games_folder, tmp_path, capsys):
    assert main(["games", "ls", "--games", str(games_folder), "--saves", str(tmp_path)]) == 0
    head, *rows = (line.split() for line in capsys.readouterr().out.splitlines())
    assert head == ["NAME", "TITLE", "MAX", "SUPPORT", "SOLUTION", "LICENCE", "FROM"]
    found = {row[0]: row for row in rows}
    assert found["pantry"][-6:] == ["full", "known", "MIT", "comes", "with", "jitrl"]
    assert found["zork1"][1:] == [
        "Zork",
        "I",
        "350",
        "full",
        "known",
        "MIT",
        "github.com/historicalsource/zork1",
    ]
    assert "unknown" in found["library"]  # it carries no licence
