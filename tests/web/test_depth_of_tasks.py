"""How deep and how hard to guess tasks are, on a small site whose links were counted by hand."""

from __future__ import annotations

import contextlib
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from engine.web.tasks.suites import WebTask
from tests.bench.web_depth import Walker, measured, sample, table

PAGES = {
    "/": """<a href="/books">Books</a> <a href="/desk#top">Desk</a> <a href="http://127.0.0.2:9/out">Out</a>
            <a href="/logout">Log out</a> <button>More</button>
            <div><a href="#">Lists</a><div class="dropdown-menu"><ul><li><a href="/due">Due</a></li></ul></div></div>
            <a href="/about"><img alt="About us"></a>""",
    "/books": '<a href="/books/emma">Emma</a> <a href="/">Home</a>',
    "/desk": '<a href="/desk/hours">When we are open</a>',
    "/due": '<a href="/due/7">Loan 7</a>',
    "/about": "nothing",
    "/books/emma": '<form><input name="reader"><button>Lend</button></form> <a href="/books/emma/reviews">Reviews</a>',
    "/books/emma/reviews": "none",
    "/find": '<input name="q"> <a href="/desk">Desk</a> <a href="/ladder">The tall ladder</a>',
}


@pytest.fixture
def site():
    got = []

    class Pages(BaseHTTPRequestHandler):
        def do_GET(self):
            place = self.path.partition("?")[0]
            got.append(place)
            data = f"<title>x</title>{PAGES.get(place, '')}".encode()
            self.send_response(200 if place in PAGES else 404)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            with contextlib.suppress(OSError):
                self.wfile.write(data)

        def log_message(self, *args):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Pages)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}", got
    server.shutdown()
    server.server_close()
    thread.join()


def depth(url, intent, steps, start="/"):
    task = WebTask("local-0", "local", 0, ("shopping",), intent, (f"__SHOPPING__{start}",))
    urls = {"shopping": url}
    return measured(task, steps, urls, Walker(task, urls))


@pytest.mark.parametrize(
    ("steps", "actions"),
    [
        ([["read", "x"]], 0),  # It stands on the first page.
        ([["get", "__SHOPPING__/books"], ["read", "x"]], 1),
        ([["get", "__SHOPPING__/books/emma"], ["read", "x"]], 2),
        ([["get", "__SHOPPING__/due"]], 2),  # The menu is opened, then the link is clicked.
        ([["get", "__SHOPPING__/due/7"]], 3),
        ([["get", "__SHOPPING__/books/emma/reviews"]], 3),  # Three links: what a search takes.
        ([["get", "__SHOPPING__/books"], ["get", "__SHOPPING__/books/emma"], ["follow", "x"]], 3),
        ([["get", "__SHOPPING__/books/emma"], ["submit", {"reader": "Ada", "until": "May"}, "", ""]], 5),
        ([["get", "__SHOPPING__/find?q=ladder"]], 2),  # One field and sending it.
        ([["get", "__SHOPPING__/logout"]], 3),  # Never opened to see where it leads.
    ],
)
def test_actions_are_counted_as_a_person_would_click(site, steps, actions):
    url, got = site
    found = depth(url, "Lend Emma", steps)
    assert (found["actions"], found["deep"]) == (actions, actions >= 3)
    assert found["kind"] == "shop"
    assert "/logout" not in got


def test_a_page_behind_a_link_that_says_something_else_than_the_task_is_hard_to_guess(site):
    url, _ = site
    hours = [["get", "__SHOPPING__/desk/hours"]]
    assert depth(url, "Which books hours are there?", hours)["hard"]  # Books fits, and Desk leads there.
    assert not depth(url, "When is the desk open?", hours)["hard"]  # Its own link fits.
    assert not depth(url, "When is it open?", hours)["hard"]  # No link misleads.
    ladder = [["get", "__SHOPPING__/ladder"]]
    assert not depth(url, "Is the tall ladder at the desk?", ladder, start="/find")["hard"]  # It can be searched.


def test_a_sample_has_each_sort_in_turns_and_the_same_one_for_a_seed():
    found = {
        f"local-{n}": {"kind": kind, "actions": n, "deep": n >= 3, "hard": n == 9}
        for n, kind in enumerate(["shop"] * 10 + ["forum"] * 2 + [""] * 3)
    }
    drawn = sample(found, 5, 52)
    shop = [task for task in drawn if found[task]["kind"] == "shop"]
    assert len(shop) == 5
    assert "local-9" in shop  # The only hard one.
    assert sum(found[task]["actions"] < 3 for task in shop) == 2
    assert sorted(set(drawn) - set(shop)) == ["local-10", "local-11"]  # All there are of a kind; none without a kind.
    assert sample(found, 5, 52) == drawn
    assert len({tuple(sample(found, 5, seed)) for seed in range(5)}) > 1
    assert "| shop | 10 | 5 | 7 | 1 |" in table(found)
