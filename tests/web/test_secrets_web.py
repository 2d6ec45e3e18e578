"""What is typed into boxes for secrets is told, recorded, sent and remembered nowhere, in whatever language."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, quote, quote_plus

import pytest

from engine.records import Decided, Stepped
from engine.session import recording
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from engine.web.browser.network import without_fields
from engine.web.choices import is_secret
from engine.web.environment import WebEnvironment
from engine.web.records import Assignment

TYPED = {
    "textbox[Kennwort]": "geheim-eins9",
    "textbox[Mot de passe]": "deux secrets/7",
    "textbox[Contraseña]": 'tres9#"x',
    "textbox[]#1": "vier44",
    "textbox[Bestätigung]": "849213",
    "textbox[Prüfziffer]": "7f3",
}
"""By box, in the order of the page: what is typed. The last one is too short to be looked for on later pages."""
FORM = """<title>Konto</title><h1>Konto</h1><form action="/welcome" method="post">
<label>Benutzer <input name="who"></label>
<label>Kennwort <input type="password" name="kennwort" placeholder="Ihr Kennwort" id="k"></label>
<label>Mot de passe <input type="PASSWORD" name="mdp"></label>
<label>Contraseña <input name="contra" autocomplete="section-a New-Password"></label>
<input type="password" name="unnamed">
<label>Bestätigung <input name="code" autocomplete="one-time-code"></label>
<label>Prüfziffer <input name="csc" autocomplete="cc-csc"></label>
<input name="plain">
<button>Los</button></form>
<button onclick="k.type = 'text'">Zeigen</button>"""
ODD = """<title>Odd</title><div id="host"></div><iframe srcdoc="<input type='password' value='inframe1'>"></iframe>
<input type="password" role="img" aria-label="picture" value="as-a-picture">
<script>host.attachShadow({mode: 'open'}).innerHTML = '<input type="password" value="in-shadow1">';</script>"""


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self._send({"/": FORM, "/odd": ODD}.get(self.path.partition("?")[0], "<title>Other</title>"))

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        sent = {name: values[0] for name, values in parse_qs(body).items()}
        self.server.got.append(sent)
        said = " und ".join(sent.values()).replace("&", "&amp;").replace('"', "&quot;")
        code, path = sent.get("code", ""), quote(sent.get("mdp", ""))
        self._send(
            f"<title>{said}</title><h1>Danke: {said}</h1><p>Room {code}7, price $7f3 off</p>"
            f"<a href='/x?m={path}'>Weiter</a>"
            f"<script>fetch('/log?m={path}', {{method: 'POST', body: JSON.stringify({json.dumps(sent)})}})</script>"
        )

    def _send(self, text):
        data = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


pytestmark = pytest.mark.usefixtures("shared_browser")


@pytest.fixture(scope="module")
def one_site():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def site(one_site):
    one_site.got = []
    return one_site


def opened(browser_path, site, path="/", task="Registriere mich"):
    assignment = Assignment("t", "test", task, (f"{site.url}{path}",), {"konto": site.url})
    return WebEnvironment(assignment, browser_path, scope="web/t")


def forms(secret):
    return {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), json.dumps(secret)[1:-1]}


def told(text, secrets):
    """The secrets that a text has, in any form."""
    text = text.replace("8492137", "")  # A room number of the page, which begins like the code.
    return [secret for secret in secrets if any(form in text for form in forms(secret))]


LONG = [secret for secret in TYPED.values() if len(secret) > 3]


def test_typed_secrets_are_on_no_later_page_in_no_action_and_in_no_traffic(browser_path, site):
    env = opened(browser_path, site)
    try:
        abstractor = env.abstractor()
        abstractor.begin(env.reset(1))
        assert [node.label for node in env.page.nodes if is_secret(node) and node.ref] == list(TYPED)
        assert "fill(<textbox[Benutzer]>, 'Registriere')" not in env.valid_actions()
        seen, states = [], []
        for box, secret in TYPED.items():
            action = env.resolve(f"fill(<{box}>, {secret!r})")
            assert action is not None
            assert "[typed secret" in action
            seen.append(env.step(action))
            states.append(abstractor.advance(action, seen[-1]))
            seen.append(env.snapshot())
        seen.append(repr(env.sight()))
        seen.append(repr(env.valid_actions()))
        assert env.resolve(f"fill(<textbox[Benutzer]>, {LONG[0]!r})") is None  # It is told nobody else.
        seen.append(env.step("click(<button[Zeigen]>)"))  # The page shows the password: the box is of another type.
        assert "<textbox[Kennwort]>\n  [redacted]" in seen[-1].description
        seen.append(env.step("click(<button[Los]>)"))
        states.append(abstractor.advance("click(<button[Los]>)", seen[-1]))
        seen += [repr(env.valid_actions()), repr(env.sight()), repr(env.step("noop()")), repr(env.sight())]
        assert "Danke: [redacted] und [redacted]" in seen[-5].description
        assert "Room 8492137" in seen[-5].description  # Another number, although it begins like the code.
        assert "price $7f3 off" in seen[-5].description  # Too short: such texts are on most pages.
    finally:
        env.close()
    assert list(site.got[0].values()) == list(TYPED.values())
    everything = repr((seen, states))
    assert told(everything, LONG) == []
    sent = [entry["request"]["postData"]["text"] for entry in env.entries if entry["request"]["method"] == "POST"]
    assert len(sent) == 2
    assert told(sent[0], TYPED.values()) == []  # The short one, too, by the name of its field.


def test_a_word_of_the_task_that_was_typed_as_a_password_can_still_be_read_and_typed_elsewhere(browser_path, site):
    env = opened(browser_path, site, task="Finde die Akte 'Hafenkante' mit dem Mot de passe Seerosenteich")
    try:
        abstractor = env.abstractor()
        abstractor.begin(env.reset(1))
        typed = (("Kennwort", "Hafenkante"), ("Mot de passe", "Seerosenteich"), ("Contraseña", "geheim-eins9"))
        for number, (box, word) in enumerate(typed, 1):
            action = env.resolve(f"fill(<textbox[{box}]>, {word!r})")
            assert word not in action
            filled = env.step(action)
            state = abstractor.advance(action, filled)
            page = filled.description.partition("BEGIN PAGE")[2]
            assert (page.count("[redacted]"), word in page) == (number, False)
            assert "geheim" not in repr((filled, state, env.sight()))
        assert "Seerosenteich" not in filled.description  # The task says what it is for.
        elsewhere = "fill(<textbox[Benutzer]>, 'Hafenkante')"
        assert elsewhere in env.valid_actions()
        assert env.resolve(elsewhere) == elsewhere
        assert "Finde die Akte 'Hafenkante'" in filled.description
        assert "hafenkante" in state.text.casefold()
        env.step(elsewhere)
        seen = env.step("click(<button[Los]>)")
        assert "Danke: Hafenkante und Hafenkante und [redacted] und [redacted]" in seen.description
    finally:
        env.close()
    assert env.secrets() == {"Seerosenteich", "geheim-eins9"}


def test_a_secret_too_short_to_look_for_stays_hidden_in_its_box_when_the_page_shows_it(browser_path, site):
    env = opened(browser_path, site)
    try:
        env.reset(1)
        seen = [env.step(env.resolve("fill(<textbox[Kennwort]>, 'x7')"))]  # A box with a placeholder.
        seen.append(env.step("click(<button[Zeigen]>)"))
        for each in (*(one.description for one in seen), env.sight().snapshot):
            assert "x7" not in each
            assert "[redacted]" in each
    finally:
        env.close()


def test_credentials_in_the_address_of_a_site_are_not_told(browser_path, site):
    address = site.url.replace("://", "://me:opensesame@")
    assignment = Assignment("t", "test", "x", (f"{address}/",), {"konto": site.url})
    env = WebEnvironment(assignment, browser_path, scope="web/t")
    try:
        seen = env.reset(1)
        assert "Kennwort" in seen.description
        assert seen.place == "konto"
        failed = env.step(f"goto({address.replace('127.0.0.1', '127.0.0.9')!r})")
        assert "outside of the task's sites" in failed.text
        assert "opensesame" not in repr((seen, failed, env.sight(), env.info, env.entries))
    finally:
        env.close()


def test_keys_typed_into_a_box_with_the_focus_are_kept_secret(browser_path, site):
    env = opened(browser_path, site)
    try:
        env.reset(1)
        env.step("click(<textbox[Kennwort]>)")
        action = env.resolve("keyboard_type('geheim-zwei8')")
        assert action == "keyboard_type('[typed secret 1]')"
        assert env.resolve("keyboard_press('Enter')") == "keyboard_press('Enter')"
        assert env.resolve("keyboard_press('g')") == "keyboard_press('[typed secret 2]')"
        env.step(action)
        seen = env.step("press(<textbox[Kennwort]>, 'Enter')")
        assert site.got[0]["kennwort"] == "geheim-zwei8"
        assert "geheim-zwei8" not in repr(seen)
        assert "Danke: [redacted]" in seen.description
    finally:
        env.close()


def test_boxes_in_frames_in_shadows_and_with_other_roles_are_found(browser_path, site):
    env = opened(browser_path, site, "/odd")
    try:
        seen = env.reset(1)
        assert told(repr((seen, env.sight(), env.page)), ["inframe1", "as-a-picture", "in-shadow1"]) == []
        assert env.secrets() >= {"inframe1", "in-shadow1"}
    finally:
        env.close()


def test_a_session_leaves_no_secret_in_any_of_its_files(browser_path, site, tmp_path):
    task = f"Registriere mich mit dem Kennwort '{TYPED['textbox[Kennwort]']}'"
    typed = {box: TYPED[box] for box in ("textbox[Kennwort]", "textbox[Mot de passe]", "textbox[Contraseña]")}
    actions = [f"fill(<{box}>, {secret!r})" for box, secret in typed.items()]
    actions += ["click(<button[Los]>)", f"send_msg_to_user({LONG[1]!r})", "send_msg_to_user('done')"]
    events = []

    class Played(Session):
        def _environment(self):
            return opened(browser_path, site, task=task)

    def emit(event):
        events.append(event)
        if isinstance(event, Decided) and event.decision.provenance != "human" and event.decision.step < len(actions):
            session.control.override(actions[event.decision.step])

    config = SessionConfig("web:local-1", "jitrl", "prior/uniform", 1, 1, "default", Settings(step_limit=len(actions)))
    saved = sessions.create(tmp_path, config, "run")
    session = Played(saved, tmp_path, emit)
    session.run()
    assert session.error is None
    assert list(site.got[0].values()) == list(typed.values())
    done = [event for event in events if isinstance(event, Stepped)]
    assert len(done) >= 4
    later = [event for event in events if not isinstance(event, Decided)][2:]
    assert told(repr([event for event in later if isinstance(event, Stepped)]), LONG) == []
    # Whatever was written after the secrets were typed: the recording, pages, traffic, caches.
    lines = saved.recording.read_text("utf-8").splitlines()
    first = next(i for i, line in enumerate(lines) if '"event":"Stepped"' in line)
    assert told("\n".join(lines[first:]), LONG) == []
    for file in (path for path in tmp_path.rglob("*") if path.is_file() and path != saved.recording):
        assert told(file.read_bytes().decode("utf-8", "replace"), LONG) == [], file
    assert len(list(recording.read(saved.recording))) > 10
    assert list((tmp_path / "memory").rglob("episodes.jnl"))


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("application/x-www-form-urlencoded", "a=1&kennwort=x7&b=2"),
        ("application/json; charset=utf-8", '{"a": 1, "deep": [{"kennwort": "x7"}], "b": "2"}'),
        ("multipart/form-data; boundary=Q", '--Q\r\nContent-Disposition: form-data; name="a"\r\n\r\n1\r\n--Q\r\n'
         'Content-Disposition: form-data; name="kennwort"\r\n\r\nx7\r\n--Q--\r\n'),
    ],
)  # fmt: skip
def test_what_is_sent_from_such_boxes_is_left_out_of_the_traffic(kind, body):
    clean = without_fields(body, kind, {"kennwort"})
    assert "x7" not in clean
    assert "1" in clean
    assert without_fields(body, kind, ()) == body
