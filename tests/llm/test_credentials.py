"""Credentials in the address of a server, and keys that it echoes, are in no message and in no file."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from engine.llm.calls import failures
from engine.llm.calls.server_models import list_models
from engine.records import ModelCall
from engine.redaction import hide, secrets_of, without_credentials
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from tests.llm import server as bad
from tests.llm.server import Server

KEY = "k3y-7x"
"""Shorter than what is looked for everywhere."""


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("cannot reach https://user:p%40ss@host:80/v1.", "cannot reach https://host:80/v1."),
        ("at http://token@host and http://a:b@c@host/x", "at http://host and http://host/x"),
        ("mail me@there.org, http://host/a@b?c=d@e", "mail me@there.org, http://host/a@b?c=d@e"),
        ("http://host?mail=a@b http://host#a@b", "http://host?mail=a@b http://host#a@b"),
        ('{"url": "http://", "to": "a@b"}', '{"url": "http://", "to": "a@b"}'),
    ],
)
def test_credentials_are_taken_out_of_addresses_alone(text, clean):
    assert without_credentials(text) == clean


@pytest.mark.parametrize("beside", ["", "a", "ab", "user:", "Bearer "])
def test_a_key_is_hidden_backwards_in_hexadecimal_and_in_base64(beside):
    key = "sk-4f/?>~h2Zq81+x"
    told = f"{beside}{key} and more".encode()
    for echoed in (key[::-1], told.hex(), base64.b64encode(told).decode(), base64.urlsafe_b64encode(told).decode()):
        shown = hide(f"You sent {echoed}.", [key])
        assert "[redacted]" in shown
        assert len(shown) < len(f"You sent {echoed}.") - len(key) + len("[redacted]") + 3
    assert hide("drowssap", ["passwor"]) == "drowssap"


def test_short_keys_are_hidden_where_they_stand_alone():
    keys = secrets_of({"OPENAI_API_KEY": KEY, "A_TOKEN": "abcd", "B_KEY": "none", "C_KEY": "abc", "D_KEY": "True"})
    assert keys == {KEY, "abcd"}
    assert hide(f"key={KEY}, '{KEY}' and %20abcd\\nabcd", keys) == (
        "key=[redacted], '[redacted]' and %20[redacted]\\n[redacted]"
    )
    assert hide("abcde xabcd", keys) == "abcde xabcd"
    assert failures.redact(f"Incorrect API key: {KEY}.", {"OPENAI_API_KEY": KEY}) == (
        f"Incorrect API key: {failures.HIDDEN}."
    )


def play(saves: Path):
    settings = Settings(step_limit=3, deadline_s=30.0, logits="verbalized", patience_minutes=0.0, attempts=2)
    config = SessionConfig(game="pantry", model="openai/test", episodes=1, settings=settings)
    events = []
    session = Session(sessions.create(saves, config, "run"), saves, events.append)
    session.run()
    return events, session.error


@pytest.fixture
def address(server: Server, monkeypatch):
    """A server whose address has credentials, and whose key is short."""
    base = server.base.replace("://", "://me:op%40nsesame@")
    monkeypatch.setenv("OPENAI_API_BASE", base)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    return base


def held(saves: Path, *secrets: str) -> list[str]:
    return [
        f"{secret} in {path}"
        for path in saves.rglob("*")
        if path.is_file()
        for secret in secrets
        if secret.encode() in path.read_bytes()
    ]


def test_a_key_that_a_server_echoes_is_not_kept(server, address, tmp_path):
    def echo(handler, body):
        said = {"option1": bad.reference_actions(body)[0], "confidence1": 90, "note": f"{KEY} {address}"}
        bad.reply(json.dumps(said))(handler, body)

    server.default = echo
    events, error = play(tmp_path)
    assert error is None
    assert server.requests
    login = base64.b64encode(b"me:op@nsesame").decode()
    assert {headers["authorization"] for headers in server.headers} == {f"Basic {login}"}
    assert (tmp_path / "cache" / "replies.sqlite").is_file()
    assert held(tmp_path, KEY, "op%40nsesame", "op@nsesame", login) == []
    calls = [call for event in events for call in getattr(getattr(event, "decision", None), "calls", ())]
    assert any(isinstance(call, ModelCall) and failures.HIDDEN in call.reply for call in calls)


@pytest.mark.parametrize(
    "trouble", [bad.status(401, f"no such key {KEY}"), bad.status(404), bad.drop, bad.raw("<html>")]
)
def test_errors_and_events_do_not_tell_credentials(server, address, tmp_path, trouble):
    server.default = trouble
    events, error = play(tmp_path)
    assert error is not None
    told = f"{error} {events!r}"
    assert not [secret for secret in (KEY, "nsesame") if secret in told]
    assert "127.0.0.1" in told
    assert held(tmp_path, KEY, "nsesame") == []


def test_the_models_of_a_server_are_listed_with_credentials_that_are_not_told(server, address):
    assert list_models(address) == ["test"]
    with pytest.raises(ValueError, match="is no address") as caught:
        list_models(address.replace("http://", "ftp://"))
    assert "nsesame" not in str(caught.value)
