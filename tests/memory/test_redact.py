"""Secrets do not get into memory, and game text is left alone."""

from __future__ import annotations

import dataclasses
import random
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.memory import Memory
from engine.memory.redact import PLACEHOLDER, Redactor
from engine.records import Episode, State, Step
from engine.redaction import secrets_of
from tests.examples import most
from tests.growth import is_linear
from tests.memory.lives import make_episode

RNG = random.Random(1)


def chars(number: int, alphabet: str = string.ascii_letters + string.digits) -> str:
    return "".join(RNG.choice(alphabet) for _ in range(number))


# Made up here, so that no real-looking key lies in the repository.
KEYS = {
    "openai": "sk-" + chars(40),
    "openai project": "sk-proj-" + chars(60),
    "anthropic": "sk-ant-api03-" + chars(60),
    "stripe": "rk_live_" + chars(24),
    "github": "ghp_" + chars(36),
    "github fine": "github_pat_" + chars(50),
    "gitlab": "glpat-" + chars(20),
    "aws": "AKIA" + chars(16, string.ascii_uppercase + string.digits),
    "google": "AIza" + chars(35),
    "slack": "xoxb-" + chars(24),
    "hugging face": "hf_" + chars(34),
    "jwt": "eyJ" + chars(20) + ".eyJ" + chars(40) + "." + chars(43),
}


@pytest.mark.parametrize("kind", KEYS)
@pytest.mark.parametrize("web", [False, True])
def test_keys_are_taken_out_wherever_they_stand(kind: str, web: bool) -> None:
    key = KEYS[kind]
    redactor = Redactor(forms=web)
    for text in (key, f"The note says {key}. You leave.", f'{{"k":"{key}"}}', f"key={key}&x=1", f"({key})"):
        clean = redactor.text(text)
        assert key not in clean
        assert PLACEHOLDER in clean
        assert redactor.text(clean) == clean  # a placeholder is not taken for a secret again
    assert redactor.count >= 5


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Authorization: Bearer " + chars(30), "Bearer-value"),
        ("curl https://anna:hunter2hunter@host/x", "anna:hunter2hunter"),
        ("-----BEGIN RSA PRIVATE KEY-----\n" + chars(64) + "\n-----END RSA PRIVATE KEY----- rest", "PEM"),
        ("-----BEGIN PRIVATE KEY-----\n" + chars(64), "PEM without an end"),
    ],
)
def test_other_credentials(text: str, secret: str) -> None:
    clean = Redactor().text(text)
    assert PLACEHOLDER in clean
    for piece in ("hunter2", text.split()[-1] if secret == "Bearer-value" else "\x00", "BEGIN"):
        assert piece not in clean
    if "rest" in text:
        assert clean.endswith(" rest")


@pytest.mark.parametrize(
    "text",
    [
        "The wizard whispers: the password: swordfish. Token: a brass token lies here. PIN code: 1234.",
        "A skeleton key, a sk-eleton, the bearer of bad news, a basic lamp. secret=door",
        "Visit http://example.com/a:b@c and mail to:someone@example.com",
        "You are in an open field west of a big white house with a boarded front door.",
        "Key: brass\nThe gh_ost says eyJ.",
    ],
)
def test_game_text_is_left_alone(text: str) -> None:
    redactor = Redactor()
    assert redactor.text(text) == text
    assert redactor.count == 0


@settings(max_examples=most(200), deadline=None)
@given(st.text(alphabet=string.ascii_letters + " .,:'\n[]-=", max_size=300))
def test_prose_is_never_changed_in_games(text: str) -> None:
    if not any(mark in text.lower() for mark in ("sk-", "pk-", "rk-", "-----begin", "bearer", "basic")):
        assert Redactor().text(text) == text


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("Password: swordfish1", "swordfish1"),
        ('<input name="user_password" value="tiger77">', "tiger77"),
        ("[12] textbox 'Password' value='tiger77'", "tiger77"),
        ("https://shop/login?form_key=abc123def&x=2", "abc123def"),
        ("card number: 4111111111111111", "4111111111111111"),
        ("csrf-token = zzz999", "zzz999"),
        ("CVV: 123", "123"),
        ("api_key: plainvalue", "plainvalue"),
    ],
)
def test_password_like_fields_of_web_pages_lose_their_values(text: str, secret: str) -> None:
    assert secret not in Redactor(forms=True).text(text)


@pytest.mark.parametrize(
    ("page", "action", "clean"),
    [
        ("[7] textbox 'Password'", "type [7] [hunter2!]", "type [7] [redacted]"),
        ("[7] textbox 'Password'\n[8] textbox 'Search'", "type [8] [lamp] [1]", "type [8] [lamp] [1]"),
        ("[7] textbox 'Password'", "type [7] [hunter2!] [1]", "type [7] [redacted] [1]"),
        ("", "fill('Password', 'hunter2!')", "fill('Password', [redacted])"),
        ("", "fill('Search', 'hunter2!')", "fill('Search', 'hunter2!')"),
        ("[7] button 'Forgot password'", "click [7]", "click [7]"),
    ],
)
def test_what_is_typed_into_a_password_field_is_taken_out(page: str, action: str, clean: str) -> None:
    state = State(page, ("t",))
    episode = Episode("u", "web/x", (Step(state, action, 0.0),), state)
    assert Redactor(forms=True).episode(episode).steps[0].action == clean
    assert Redactor().episode(episode).steps[0].action == action


def test_what_was_typed_is_taken_out_of_later_pages_too() -> None:
    login = State("[7] textbox 'Password'", ("login",))
    after = State("Welcome! Your password is correct-horse-battery", ("welcome", "correct-horse-battery"))
    steps = (Step(login, "type [7] [correct-horse-battery]", 0.0), Step(after, "click [1]", 1.0))
    clean = Redactor(forms=True).episode(Episode("u", "web/x", steps, after))
    assert "correct-horse-battery" not in repr(clean)
    assert clean.final.tokens == ("welcome",)


def test_known_secrets_go_from_texts_tokens_and_actions(tmp_path: Path) -> None:
    secret = "Xyzzy-Plugh-42"
    state = State(
        f"[note, {secret}]", ("lamp", "note", "plugh", "xyzzy", "xyzzy-plugh-42"), f"saw {secret}", ("saw",)
    )
    episode = make_episode(RNG, "a", 1)
    step = dataclasses.replace(
        episode.steps[0], state=state, action=f"say {secret}", valid_actions=(f"say {secret}",)
    )
    with Memory(tmp_path, secrets=[secret, "short"]) as memory:
        scope = memory.scope("game/x")
        scope.append(dataclasses.replace(episode, steps=(step,), final=state, session=secret))
        assert secret.encode() not in scope.path.read_bytes()
        assert b"plugh" not in scope.path.read_bytes()
        (found,) = scope.neighbours(
            state, k=1, r=1.0, gamma=0.5
        )  # asked with the secret, it is the same state
        assert (found.similarity, found.action) == (1.0, f"say {PLACEHOLDER}")
        kept = scope.entry(0)
        assert kept is not None
        assert kept.state.tokens == ("lamp", "note")


def test_secrets_of_the_environment_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = {"GEMINI_API_KEY": "k" * 20, "HOME": "/home/someone", "MY_TOKEN": "short", "X_KEY": "abc", "Y_KEY": "none"}
    assert secrets_of(names) == {"k" * 20, "short"}  # Three characters and stand-ins are no secrets.
    monkeypatch.setenv("SOME_API_KEY", "plain words that are secret")
    with Memory(tmp_path) as memory:
        scope = memory.scope("game/x")
        episode = make_episode(RNG, "a", 1)
        step = dataclasses.replace(episode.steps[0], action="say plain words that are secret")
        scope.append(dataclasses.replace(episode, steps=(step,)))
        assert scope.entry(0) == dataclasses.replace(step, action=f"say {PLACEHOLDER}")


@pytest.mark.parametrize(
    ("first", "again", "last"),
    [("", "-----BEGIN PRIVATE KEY-----", ""), ("", "eyJ", ""), ("://", "a:", ""), ("", "password", ""), ("", "sk-", ""),
     ("", "password: ", ""), ("token=", "=", ""), ("", "bearer ", ""), ("", "value=", "password")],
)  # fmt: skip
def test_hostile_texts_take_time_that_grows_with_their_length_alone(first: str, again: str, last: str) -> None:
    redactor = Redactor(["z" * 50], forms=True)
    assert is_linear(lambda length: redactor.text(first + again * (length // len(again)) + last), 10_000)
