"""A real Chromium on real pages of a loopback server."""

from __future__ import annotations

import pytest

from engine.web.browser.limits import BrowserLimits
from engine.web.drawing.text import CLOSE, OPEN
from engine.web.environment import WebEnvironment
from engine.web.environment_factory import open_web
from engine.web.records import Assignment, SignIn


class Judge:
    """Done once a form was posted and the answer says so."""

    wants_answer = True

    def __init__(self):
        self.begun, self.entries = 0, []

    def begin(self):
        self.begun += 1

    def looks(self, url):
        return ()

    def judge(self, answer, url, entries, texts):
        self.entries = list(entries)
        posted = any(e["request"]["method"] == "POST" for e in entries)
        return (1.0, "") if posted and answer == "done" else (0.0, "nothing was posted")

    def close(self):
        pass


@pytest.fixture
def opened(browser_path, shared_browser):
    made = []

    def open_at(site, intent="Find 'Ana' with the password 'swordfish9'", path="/"):
        job = Assignment("t-1", "test", intent, (f"{site.url}{path}",), {"shop": site.url})
        judge = Judge()
        environment = WebEnvironment(job, browser_path, scope="web/shop", judge=judge)
        made.append(environment)
        environment.judged = judge
        return environment

    yield open_at
    for environment in made:
        environment.close()


def test_the_ends_of_lines_stand_between_words_and_what_is_edited_stays(opened, site):
    env = opened(site, path="/lines")
    shown = env.reset(1).description
    assert "Distance: 1.2 km Time: 15 min" in shown
    assert "north of Arlow" in shown
    assert env.driver.evaluate("() => pen.textContent") == "ab"


def test_a_form_is_filled_in_by_role_and_name_and_the_judge_sees_the_post(opened, site):
    env = opened(site)
    first = env.reset(1)
    assert (first.place, first.over, first.score) == ("shop", False, 0.0)
    assert "click(<link[Find]>)" in env.valid_actions()
    second = env.step("click(<link[Find]>)")
    assert (second.place, second.changed) == ("shop/find", True)
    assert "fill(<textbox[Name]>, 'Ana')" in env.valid_actions()
    assert "select_option(<combobox[Sort by:]>, 'Price')" in env.valid_actions()
    env.step("fill(<textbox[Name]>, 'Ana')")
    env.step("select_option(<combobox[Sort by:]>, 'Price')")
    # The password is the task's second value; what is remembered does not hold it.
    assert "fill(<textbox[Password]>, '[secret 2]')" in env.valid_actions()
    env.step("fill(<textbox[Password]>, '[secret 2]')")
    after = env.step("click(<button[Send]>)")
    assert "Thanks" in after.description
    assert site.posted == ["name=Ana&password=swordfish9&sort=Price"]
    last = env.step("send_msg_to_user('done')")
    assert (last.terminated, last.outcome, last.score) == (True, "won", 1.0)
    (post,) = [e for e in env.judged.entries if e["request"]["method"] == "POST"]
    assert post["response"]["status"] == 200
    assert "swordfish9" not in str(post)
    assert "name=Ana" in post["request"]["postData"]["text"]
    assert env.valid_actions() == ()
    assert env.step("go_back()") == last


def test_actions_are_found_by_name_and_errors_popups_dialogs_iframes_and_downloads_are_told(opened, site):
    env = opened(site)
    text = env.reset(1).description
    # What the page says stands between marks, and cannot end them.
    assert (text.count(OPEN), text.count(CLOSE)) == (1, 1)
    assert text.index(OPEN) < text.index("You are free") < text.index(CLOSE)
    assert env.resolve("click(<link[Find]>)") == "click(<link[Find]>)"
    assert env.resolve("click(<link[Elsewh]>)") == "click(<link[Elsewhere]>)"
    assert env.resolve("click(<button[Go]>)") == "click(<button[Go]#1>)"
    ref = next(node.ref for node in env.page.nodes if node.name == "Greet")
    assert env.resolve(f"click('{ref}')") == "click(<button[Greet]>)"
    for gone in (
        "click(<link[Basket]>)",
        "click(<link[e]>)",
        "goto('http://example.invalid/')",
        "tab_focus(3)",
        "fly()",
    ):
        assert env.resolve(gone) is None
    for wrong, word in [
        ("click('zz9')", "zz9"),
        ("fly()", "no action"),
        ("click(open('x'))", "plain texts"),
        ("click(<button[Missing]>)", "Missing"),
        ("fill(<button[Greet]>, 'x')", "Error"),
        ("fill(<link[Find]>, '[redacted]')", "secret"),
    ]:
        seen = env.step(wrong)
        assert word in seen.text
        assert not seen.over
    assert "said 'Hello' and was accepted" in env.step("click(<button[Greet]>)").text
    assert "click(<button[Go]#2>)" in env.valid_actions()
    assert "pressed" in env.step("click(<button[inside]>)").description
    assert "refused to download 'file.zip'" in env.step("click(<link[Get it]>)").text
    popup = env.step("click(<link[Elsewhere]>)")
    assert popup.place == "shop/find"
    assert "a new tab opened" in popup.text
    assert env.step("tab_focus(0)").place == "shop"
    assert env.step("tab_close()").place == "shop/find"


def test_what_fades_in_after_a_click_belongs_to_the_page_after_it(opened, site):
    env = opened(site, "Write the note 'x'", "/fade")
    env.reset(1)
    assert not any("Note" in action for action in env.valid_actions())
    env.step("click(<button[Turn]>)")
    assert "fill(<textbox[Note]>, 'x')" in env.valid_actions()


@pytest.mark.usefixtures("shared_browser")
def test_after_signing_in_the_first_of_several_start_pages_is_shown(browser_path, site):
    starts = (f"{site.url}/ask", f"{site.url}/lines")
    form = SignIn(f"{site.url}/find", {"Name": "ana"}, "Send")
    job = Assignment("t-2", "test", "Find 'Ana'", starts, {"shop": site.url}, sign_in=(form,))
    env = WebEnvironment(job, browser_path, scope="web/shop")
    try:
        assert env.reset(1).place == "shop/ask"
        assert "tab_focus(1)" in env.valid_actions()
    finally:
        env.close()


def test_a_page_of_many_nodes_is_read_and_kept_short(opened, site):
    env = opened(site, path="/large")
    seen = env.reset(1)
    assert len(env.page.nodes) >= 1400
    assert "more elements are not shown" in seen.description
    assert len(seen.description) < 14_000


def test_an_episode_whose_pages_take_too_long_ends_without_a_verdict_and_thinking_does_not_count(
    browser_path, shared_browser, site
):
    job = Assignment("t-1", "test", "x", (f"{site.url}/ask",), {"shop": site.url})
    now = 0.0

    def clock():
        return now

    env = WebEnvironment(job, browser_path, scope="web/shop", limits=BrowserLimits(episode=50.0), clock=clock)
    act = env.driver.act

    def slow(call):
        nonlocal now
        now += 30.0
        return act(call)

    env.driver.act = slow
    try:
        for _ in range(2):
            env.reset(1)
            now += 1000.0  # somebody thinks
            assert not env.step("fill(<textbox[Name]>, 'x')").over
            seen = env.step("fill(<textbox[Name]>, 'y')")
            assert (seen.terminated, seen.truncated, seen.outcome) == (False, True, "")
            assert "took more than 50 s" in seen.text
    finally:
        env.close()


@pytest.mark.usefixtures("shared_browser")
def test_an_answer_that_nobody_judges_leaves_the_episode_without_a_verdict(browser_path, site):
    job = Assignment("t-1", "test", "x", (f"{site.url}/ask",), {"shop": site.url})
    env = WebEnvironment(job, browser_path, scope="web/shop")
    try:
        env.reset(1)
        seen = env.step("send_msg_to_user('done')")
        assert (seen.terminated, seen.truncated, seen.outcome, seen.score) == (False, True, "", 0.0)
        assert env.valid_actions() == ()
        assert env.step("click(<link[Find]>)") == seen
    finally:
        env.close()


def test_a_typed_password_is_never_shown_and_remembered_as_a_placeholder_that_is_worth_nothing_later(opened, site):
    env = opened(site, path="/find")
    first = env.reset(1)
    seen = env.step("fill(<textbox[Password]>, 'hunter2hunter2')")
    assert "hunter2hunter2" not in seen.description + seen.text
    assert seen.world_hash != first.world_hash
    kept = env.resolve("fill(<textbox[Password]>, 'hunter2hunter2')")
    assert kept == "fill(<textbox[Password]>, '[typed secret 1]')"
    env.step(kept)
    for told in ("fill(<textbox[Name]>, 'it is hunter2hunter2')", "send_msg_to_user('hunter2hunter2')"):
        assert env.resolve(told) is None
        assert "password boxes" in env.step(told).text
        assert "hunter2hunter2" not in repr(env.sight())
    env.step("click(<button[Send]>)")
    assert "password=hunter2hunter2" in site.posted[-1]
    assert env.reset(1).world_hash == first.world_hash
    # The next episode remembers the action, and cannot take it: nor what memory itself took out.
    for remembered in (
        kept,
        "fill(<textbox[Password]>, '[redacted]')",
        "fill(<textbox[Name]>, '[redacted]')",
    ):
        assert env.resolve(remembered) is None
        posted = len(site.posted)
        assert "secret" in env.step(remembered).text
        assert len(site.posted) == posted
    # What the task itself gives can be typed in every episode.
    assert env.resolve("fill(<textbox[Password]>, '[secret 2]')") is not None


@pytest.mark.usefixtures("shared_browser")
def test_a_secret_that_a_form_puts_into_the_address_is_seen_and_remembered_nowhere(browser_path, site):
    secret = "hunter2 w/rd&more"
    job = Assignment("t-1", "test", "x", (f"{site.url}/ask",), {"shop": site.url})
    env = WebEnvironment(job, browser_path, scope="web/shop")
    try:
        abstractor = env.abstractor()
        states, seen = [abstractor.begin(env.reset(1))], []
        for action in (f"fill(<textbox[Password]>, {secret!r})", "click(<button[Go]>)"):
            action = env.resolve(action) or action
            seen.append(env.step(action))
            states.append(abstractor.advance(action, seen[-1]))
        assert "k=hunter2" in env.page.url
        shown = repr((seen, states, abstractor.recent(9), env.sight(), env.valid_actions()))
        assert "hunter2" not in shown
        assert "w%2Frd" not in shown
        assert "redacted" in states[-1].text
    finally:
        env.close()


def test_pages_of_a_configured_site_have_its_name_in_tasks_of_another_one_at_any_port(
    browser_path, shared_browser, site, pages, tmp_path
):
    with pages() as tickets:
        variables = {"WA_SHOPPING": site.url, "WA_SHOPPING_ADMIN": f"{site.url}/dashboard", "WA_GITLAB": tickets.url}
        env = open_web("web:local-36", tmp_path, variables)  # of shopping_admin alone
        try:
            assert env.reset(1).place == "shopping_admin"
            assert env.step(f"goto('{site.url}/find?q=1')").place == "shopping/find?q"
            assert "outside of the task's sites" in env.step(f"goto('{tickets.url}/')").text
        finally:
            env.close()
        assert tickets.got == []  # It has a name now, and is no more to be reached than before.
