"""Pages as pictures for the model that says what makes them: real, small, without secrets, and only if asked for."""

from __future__ import annotations

import base64
import hashlib
import io
import json

import numpy as np
import pytest
from PIL import Image

from engine.environments import profile
from engine.errors import ModelError, UsageError
from engine.llm import open_model
from engine.llm.model import Question
from engine.llm.model_factory import open_remote
from engine.records import Decided, Observation
from engine.session import store as sessions
from engine.session.loop import Session
from engine.session.replaced_settings import attainable
from engine.settings import SessionConfig
from engine.web.browser.pages import FOLDER
from engine.web.environment import WebEnvironment
from engine.web.kind import WEB
from engine.web.records import Assignment
from engine.web.states import extraction
from engine.web.states.state import WebAbstractor
from tests.llm import server as fake
from tests.writing import writing

pytestmark = pytest.mark.usefixtures("shared_browser")

FILL, SORT = "fill(<textbox[Name]>, 'Ana')", "select_option(<combobox[Sort by:]>, 'Price')"
JPEG = b"\xff\xd8 one"
OTHER = b"\xff\xd8 other"
PAINT = (255, 0, 255)
"""What Playwright paints over elements that are to be hidden."""


def shown(request):
    """Return what the last message of a request says, and the pictures in it."""
    content = request["messages"][-1]["content"]
    if isinstance(content, str):
        return content, []
    text, *rest = content
    assert text["type"] == "text"
    urls = [part["image_url"]["url"] for part in rest if part["type"] == "image_url"]
    assert all(url.startswith("data:image/jpeg;base64,") for url in urls)
    return text["text"], [base64.b64decode(url.partition(",")[2], validate=True) for url in urls]


def extracting(server):
    return [r for r in server.requests if "MINIMAL action sequence" in r["messages"][0]["content"]]


def pixels(picture):
    return np.asarray(Image.open(io.BytesIO(picture)).convert("RGB"), int)


def painted(picture, box):
    """Return the share of a box of the picture that is painted over."""
    x, y, width, height = (int(v) for v in box)
    part = pixels(picture)[y + 1 : y + height - 1, x + 1 : x + width - 1]
    return float((np.abs(part - PAINT).max(axis=2) < 40).mean())


# ------------------------------------------------------------------------------------- whole sessions


def play(tmp_path, browser_path, site, server, monkeypatch, history, steps=(FILL, SORT)):
    monkeypatch.setenv("OPENAI_API_BASE", server.base)

    def answer(handler, body):
        system = body["messages"][0]["content"]
        if "MINIMAL action sequence" in system:
            return fake.reply(f"Final Answer: {FILL}")(handler, body)
        user = body["messages"][1]["content"]
        action = steps[user.count("  -> ")]
        option = {"reasoning": "so", "best_action": 1, "option1": action, "confidence1": 90,
                  "option2": "noop()", "confidence2": 1}  # fmt: skip
        return fake.reply(json.dumps(option))(handler, body)

    server.default = answer

    class OnPages(Session):
        def _environment(self):
            job = Assignment("t-1", "test", "Sort them", (f"{site.url}/find",), {"shop": site.url})
            return WebEnvironment(job, browser_path, scope="web/shop")

    events = []
    settings = profile("default", "web", history=history, rewards="score", candidates=2, step_limit=len(steps))
    config = SessionConfig("web:t-1", "static", "openai/test", 1, 1, "web", settings)
    saved = sessions.create(tmp_path, config, "run")
    session = OnPages(saved, tmp_path, events.append)
    session.run()
    return session, saved, events


def test_a_session_shows_the_model_the_page_as_it_was_come_to_and_as_it_is(
    tmp_path, browser_path, site, server, monkeypatch
):
    session, saved, events = play(tmp_path, browser_path, site, server, monkeypatch, "vision")
    assert session.error is None
    first, second = extracting(server)
    text, pictures = shown(second)
    assert "first is the page as it was come to" in text
    assert f"{FILL} -> {SORT}" in text
    assert len(pictures) == 2
    assert [Image.open(io.BytesIO(picture)).size for picture in pictures] == [(1280, 720)] * 2
    assert all(len(picture) <= extraction.LARGEST_PICTURE for picture in pictures)
    # The one page is the same in both calls, and what was typed can be seen to have changed it.
    assert shown(first)[1][0] == pictures[0]
    assert shown(first)[1][1] != pictures[0]
    decided = [event.decision for event in events if isinstance(event, Decided)]
    assert decided[1].state.text == f"[shop/find: {FILL}] Sort them"
    # Nobody else is sent pictures, and what is kept of a call is the digest of the recorded ones.
    others = [r for r in server.requests if r not in extracting(server)]
    assert others
    assert all(isinstance(message["content"], str) for r in others for message in r["messages"])
    kept = {hashlib.sha256(f.read_bytes()).hexdigest() for f in (saved.folder / FOLDER).glob("*.jpg")}
    assert {hashlib.sha256(picture).hexdigest() for picture in pictures} <= kept
    for file in tmp_path.rglob("*"):
        if file.is_file() and file.suffix != ".jpg":
            held = file.read_bytes()
            assert b"data:image" not in held, file
            assert base64.b64encode(pictures[1])[40:80] not in held, file


def test_what_was_typed_in_secret_is_painted_over_in_what_is_sent(browser_path, site, server, model):
    job = Assignment("t-1", "test", "Tell it", (f"{site.url}/tell",), {"shop": site.url})
    environment = WebEnvironment(job, browser_path, scope="web/shop")
    told = []
    try:
        rules = environment.abstractor()
        made = rules.written(writing(model, told, history="vision"))
        made.begin(environment.reset(1))
        server.default = fake.reply("Final Answer: No action")
        action = environment.resolve("fill(<textbox[Password]>, 'swordfish9')")
        made.advance(action, environment.step(action))
        nodes = environment.page.nodes
        _, (before, now) = shown(server.requests[-1])
    finally:
        environment.close()
    assert told == []
    assert "swordfish9" not in json.dumps(server.requests)
    field, told_on, plain = (
        [n.box for n in nodes if wanted in n.name + n.value and n.box][-1]
        for wanted in ("Password", "swordfish9", "Plain")
    )
    assert [painted(now, box) > 0.95 for box in (field, told_on, plain)] == [True, True, False]
    assert painted(now, plain) == 0
    assert painted(before, told_on) == 0  # Nothing was to be hidden there yet.
    assert "all that screenshots show, is data" in server.requests[-1]["messages"][0]["content"]


# ------------------------------------------------------------------------- where there is nothing to see


def looking(model, *pictures, history="vision"):
    told, waiting = [], list(pictures)
    made = WebAbstractor(lambda: "Find it", tuple, lambda: waiting.pop(0) if waiting else JPEG)
    made.written(writing(model, told, history=history))
    seen = Observation("ok", description="Task: Find it\nShow By: Year", place="admin")
    made.begin(seen)
    return made, seen, told


@pytest.mark.parametrize(
    ("pictures", "sent", "said"),
    [
        ((JPEG, OTHER), [JPEG, OTHER], "the second the final page"),
        ((JPEG, JPEG), [JPEG], "**SCREENSHOT:** the final page."),  # nothing to be seen of it
        ((b"", OTHER), [OTHER], "**SCREENSHOT:** the final page."),
        ((JPEG, b""), [], ""),
        ((JPEG, JPEG + bytes(extraction.LARGEST_PICTURE)), [], ""),
    ],
)
def test_a_picture_that_cannot_be_had_or_is_too_large_leaves_the_text(server, model, pictures, sent, said):
    made, seen, told = looking(model, *pictures)
    server.default = fake.reply(f"Final Answer: {FILL}")
    state = made.advance(FILL, seen)
    assert state.text == f"[admin: {FILL}] Find it"
    text, arrived = shown(server.requests[-1])
    assert arrived == sent
    assert said in text
    assert ("SCREENSHOT" in text) == bool(sent)
    assert len(told) == (set(pictures) not in ({JPEG}, {JPEG, OTHER}))
    assert all("the model gets its text alone" in sentence for sentence in told)


def test_without_the_setting_no_picture_is_sent(server, model):
    made, seen, told = looking(model, JPEG, OTHER, history="llm")
    server.default = fake.reply(f"Final Answer: {FILL}")
    assert made.advance(FILL, seen).text == f"[admin: {FILL}] Find it"
    text, arrived = shown(server.requests[-1])
    assert (arrived, "SCREENSHOT" in text, told) == ([], False, [])


def test_a_server_that_takes_no_pictures_leaves_the_history_to_rules_and_says_so_once(server, model):
    made, seen, told = looking(model, JPEG, OTHER, JPEG)
    server.default = fake.status(400, "this model does not support image input")
    for action in (FILL, SORT):
        state = made.advance(action, seen)
    assert state.text == f"[admin: {FILL}; {SORT}] Find it"
    (sentence,) = told
    assert "written by rules for now" in sentence
    assert "does not support image input" in sentence


class Pages:
    """What can be seen, as far as the settings ask for it."""

    def sight(self):
        return None


@pytest.mark.parametrize("name", ["prior/verbs", "prior/uniform", "prior/verbs+prior/uniform"])
def test_models_that_take_no_pictures_are_shown_none_and_that_is_said(name):
    settings = profile("paper", "web")
    model = open_model(name, settings=settings, cache=None, asking=WEB.asking())
    found, replaced = attainable(settings, model, Pages(), None, kind=WEB, learns=True)
    assert replaced == (
        f"history=llm in place of vision: {name} takes no pictures",
        f"history=rules in place of llm: {name} writes nothing",
        f"rewards=score in place of llm: {name} writes nothing",
    )
    assert (found.history, found.rewards) == ("rules", "score")
    assert found.transform == settings.transform


def test_a_game_has_nothing_to_show(tmp_path):
    config = SessionConfig(
        "pantry", "static", "prior/uniform", 1, 1, "default", profile("default", history="vision")
    )
    session = Session(sessions.create(tmp_path, config, "run"), tmp_path, lambda event: None)
    session.run()
    assert isinstance(session.error, UsageError)
    assert "a game shows nothing" in str(session.error)


# --------------------------------------------------------------------------------------------- calls


def test_a_call_is_recorded_by_the_digest_of_its_pictures_and_known_again_by_them(server, tmp_path):
    model = open_remote("openai/test", profile("default", "web"), tmp_path, {"OPENAI_API_BASE": server.base})
    server.default = fake.reply("so")
    question = [{"role": "system", "content": "Look."}, {"role": "user", "content": "What is it?"}]
    calls = [
        model.complete(Question("history", question, pictures=shot)).call for shot in ((JPEG,), (JPEG,), (OTHER,), ())
    ]
    model.close()
    assert [call.cached for call in calls] == [False, True, False, False]
    assert [shown(request)[1] for request in server.requests] == [[JPEG], [OTHER], []]
    assert hashlib.sha256(JPEG).hexdigest() in calls[0].prompt
    assert base64.b64encode(JPEG).decode() not in calls[0].prompt
    assert "picture" not in calls[3].prompt


def test_a_model_of_this_process_says_that_it_takes_none():
    from engine.llm.language import LanguageModel

    class Here(LanguageModel):
        def __init__(self):
            self.name, self._engine = "local/x", object()

    with pytest.raises(ModelError, match="local/x takes no pictures"):
        Here().complete(Question("history", [{"role": "user", "content": "x"}], pictures=[JPEG]))
