"""Writes more tasks of the site with tickets, wiki and code from its data: `python -m tests.web.write_code_tasks`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine.web.sites import fossil_data as data
from engine.web.sites import fossil_projects as projects
from engine.web.tasks.suites import LOCAL
from tests.web.solving import SOLUTIONS

NAME = "400-code.json"
FIRST = 400
ROOT = "__GITLAB__"
BASE = f"{ROOT}/larder"
TITLES = [title for title, *_ in (*data.TICKETS, *data.MORE_TICKETS)]


class Written:
    """The tasks and solutions so far.

    Attributes:
        project: The project that the next ones are about. Those of Larder begin there, the others at the list of all.
    """

    def __init__(self) -> None:
        self.project = "larder"
        self.tasks: list[dict[str, Any]] = []
        self.solutions: list[dict[str, Any]] = []
        self._templates: dict[str, int] = {}

    def add(
        self, template: str, values: Mapping[str, str], checks: list[Any], right: list[Any], wrong: list[Any],
        start: str = "/",
    ) -> None:  # fmt: skip
        """Add a task and its solutions; a step ["get", PATH] opens a page of the project."""
        number, intent = FIRST + len(self.tasks), template
        for name, value in values.items():
            intent = intent.replace("{{" + name + "}}", value)
        place = BASE if self.project == "larder" else ROOT
        self.tasks.append({
            "task_id": number, "sites": ["gitlab"], "start_urls": [place + start],
            "intent_template_id": self._templates.setdefault(template, FIRST + len(self._templates)),
            "intent": intent, "intent_template": template, "instantiation_dict": dict(values), "eval": checks,
            "revision": 1,
        })  # fmt: skip
        base = f"{ROOT}/{self.project}"
        played = [[[s[0], base + s[1]] if s[0] == "get" else s for s in steps] for steps in (right, wrong)]
        self.solutions.append({"task_id": number, "right": played[0], "wrong": played[1]})

    def ask(
        self, template: str, values: Mapping[str, str], answer: Any, right: list[Any], wrong: str
    ) -> None:
        """Add a task with an answer: a number, or a text."""
        kind = "number" if isinstance(answer, int) else "string"
        expected = {"task_type": "retrieve", "status": "SUCCESS", "retrieved_data": [answer]}
        schema = {"type": "array", "items": {"type": kind}}
        judge = {"evaluator": "AgentResponseEvaluator", "results_schema": schema, "expected": expected}
        self.add(template, values, [judge], right, [["answer", wrong]])

    def go(self, template: str, values: Mapping[str, str], *pages: str, aside: tuple[str, ...] = ()) -> None:
        """Add a task that ends on a page, which may have several addresses. Parameters `aside` may have any value."""
        urls: Any = [f"{ROOT}/{self.project}{page}" for page in pages]
        expected = {"url": urls if pages[1:] else urls[0], "http_method": "GET", "response_status": 200}
        check: dict[str, Any] = {"evaluator": "NetworkEventEvaluator", "expected": expected}
        if aside:
            check["ignored_query_params"] = list(aside)
        self.add(template, values, [_done("navigate"), check], [["get", pages[0]]], [])

    def change(
        self, template: str, values: Mapping[str, str], query: str, rows: list[Any], right: list[Any], wrong: list[Any],
        posted: dict[str, Any] | None = None, start: str = "/",
    ) -> None:  # fmt: skip
        """Add a task that changes the project, whose database is read afterwards.

        Args:
            template: The task in words.
            values: What its marks stand for.
            query: What is read.
            rows: What it must give.
            right: Steps that do the task.
            wrong: Steps that do something else.
            posted: A request that must have been sent, for texts, which the database keeps compressed.
            start: Path of the page that it begins on.
        """
        state = {"evaluator": "StateEvaluator", "site": "gitlab", "query": query, "expected": rows}
        if self.project != "larder":
            state["file"] = f"{self.project}.fossil"
        sent = [{"evaluator": "NetworkEventEvaluator", "expected": posted}] if posted else []
        self.add(template, values, [_done("mutate"), *sent, state], right, wrong, start)


def _done(kind: str) -> dict[str, Any]:
    expected = {"task_type": kind, "status": "SUCCESS", "retrieved_data": None}
    return {"evaluator": "AgentResponseEvaluator", "results_schema": {"type": "null"}, "expected": expected}


def _id(title: str) -> str:
    return data.ticket_id(TITLES.index(title))


def _ticket(title: str) -> list[Any]:
    return [["get", f"/tktview/{_id(title)}"]]


def _edit(title: str, fields: dict[str, str]) -> list[Any]:
    return [["get", f"/tktedit/{_id(title)}"], ["submit", fields, "tktedit", "preview"],
            ["submit", {}, "tktedit", "submit"]]  # fmt: skip


def made() -> Written:
    """Return the tasks and their solutions."""
    written = Written()
    _asked(written)
    _opened(written)
    _changed(written)
    _of_other_projects(written)
    return written


def _asked(written: Written) -> None:
    for branch in ("proxy", "dark-theme"):
        count = len(data.BRANCHES[branch][2])
        written.ask(
            "How many check-ins has the branch {{branch}}?",
            {"branch": branch},
            count,
            [["get", "/brlist"], ["read", rf">{branch}</a>.*?<td[^>]*>[^<]*</td>\s*<td>(\d+)</td>"]],
            "9",
        )
    for branch in ("half-packs", "two-cameras"):
        who, comment = data.BRANCHES[branch][1], data.BRANCHES[branch][2][0]
        written.ask("Who works in the branch {{branch}}? Give the user name.", {"branch": branch}, who,
                    [["get", f"/timeline?r={branch}&n=0&y=ci"], ["read", rf"{comment}.*?user:\s*(?:<a[^>]*>)?(\w+)"]],
                    "olek")  # fmt: skip
    person = data.BRANCHES["two-cameras"][1]
    home = {"mara": "Uppsala", "tomas": "Lagos", "ines": "Porto", "jonas": "Kassel", "priya": "Chennai"}
    written.ask("In which city lives who works in the branch {{branch}}?", {"branch": "two-cameras"}, home[person],
                [["get", "/wiki?name=Team"], ["read", rf"{data.PEOPLE[person]}: \w+, (\w+)"]], "Porto")  # fmt: skip
    written.ask("Which branch was merged into the trunk by the check-in of Mara that mentions half packs?", {},
                "half-packs", [["get", "/timeline?n=0&y=ci"], ["read", r"Merge (half-packs)"]],
                "faster-search")  # fmt: skip
    for title, who, answer, pattern in (
        ("Crash on save", "tomas", 480, r"with (\d+) items"),
        ("Barcode table is out of date", "mara", "15 September", r"published on (\d+ \w+)"),
        ("Sync fails behind a proxy", "jonas", "Kassel", r"school in (\w+)"),
    ):
        question = {
            "Crash on save": "With how many items does {{who}} see the fault of the ticket \"{{title}}\"?",
            "Barcode table is out of date": "On which day is the new table published, according to what {{who}} wrote "
            "on the ticket \"{{title}}\"?",
            "Sync fails behind a proxy": "In which city is the school that {{who}} mentions on the ticket "
            "\"{{title}}\"?",
        }[title]  # fmt: skip
        written.ask(question, {"who": data.PEOPLE[who], "title": title}, answer,
                    [*_ticket(title), ["read", pattern]], "11")  # fmt: skip
    for title in ("Units are lost after import", "Build needs a network"):
        reporter = data.MORE_TICKETS[[each[0] for each in data.MORE_TICKETS].index(title)][6]
        contact = f"{reporter}@larder.example"
        written.ask('What is the contact address of the reporter of the ticket "{{title}}"?', {"title": title}, contact,
                    [*_ticket(title), ["read", r"(\w+@larder\.example)"]], "olek@larder.example")  # fmt: skip
    for title, question, answer in (
        ("Release 2.0 on a Monday?", "At what hour should the sync server be started again, as {{who}} writes in the "
         'forum thread "{{title}}"?', "six"),
        ("Backups", 'How many minutes did it take to read the backup, according to the forum thread "{{title}}"?',
         "forty"),
    ):  # fmt: skip
        thread = _posts(title)[0]
        people = {"who": "Priya Raman"} if "{{who}}" in question else {}
        written.ask(question, {**people, "title": title}, answer,
                    [["get", f"/forumpost/{thread}"], ["read", rf"(?:At|in) ({answer})"]], "nine")  # fmt: skip
    written.ask("How many seconds does a client wait for an answer, according to the wiki page Sync Protocol?", {}, 30,
                [["get", "/wiki?name=Sync+Protocol"], ["read", r"waits (\d+)"]], "512")  # fmt: skip


def _posts(title: str) -> list[str]:
    """Return the ids of the posts of a thread, the first one first, 64 hexadecimal digits each."""
    return [data.name_of(post) for post in data.threads()[title]]


def _opened(written: Written) -> None:
    written.go("Open the history of the file {{file}}.", {"file": "src/search.c"}, "/finfo?name=src/search.c",
               "/finfo/src/search.c", aside=("m", "ci"))  # fmt: skip
    written.go("Open the list of all branches.", {}, "/brlist")
    written.go("Open the report that says how many check-ins each file has.", {}, "/reports?view=byfile",
               "/reports?type=ci&view=byfile", "/reports?view=byfile&type=ci", "/reports?type=a&view=byfile",
               "/reports?view=byfile&type=a", aside=("udc",))  # fmt: skip
    posts = _posts("Meeting in spring")  # The list of threads has links to their last posts.
    written.go(
        'Open the forum thread "{{title}}".',
        {"title": "Meeting in spring"},
        *(f"/{page}/{post[:length]}" for post in posts for page in ("forumthread", "forumpost")
          for length in (10, 16, 64)),
    )


def _changed(written: Written) -> None:
    columns = "SELECT status, severity, priority, resolution FROM ticket WHERE tkt_uuid = "
    for title, status, priority, resolution in (
        ("Sync asks for the password twice", "Fixed", "Medium", "Fixed"),
        ("Shelf names of 64 letters are cut", "Deferred", "Zero", "Open"),
    ):  # fmt: skip
        fields = {"status": status, "priority": priority, "resolution": resolution}
        written.change(
            'Set the status of the ticket "{{title}}" to {{status}}, its priority to {{priority}} and its resolution '
            "to {{resolution}}.", {"title": title, **fields}, f"{columns}'{_id(title)}'",
            [[status, "Minor", priority, resolution]], _edit(title, fields), _edit(title, {"status": status}),
        )  # fmt: skip
    for title, text in (
        ("Scanner is blind in the dark", "Mine, too."),
        ("Build needs a network", "I take it."),
    ):
        written.change(
            'Write the remark "{{text}}" on the ticket "{{title}}".', {"title": title, "text": text},
            "SELECT c.tkt_user, c.icomment FROM ticketchng c JOIN ticket t ON t.tkt_id = c.tkt_id "
            f"WHERE t.tkt_uuid = '{_id(title)}' AND c.tkt_user = 'worker'", [["worker", text]],
            _edit(title, {"icomment": text}), _edit(title, {"icomment": "No."}),
        )  # fmt: skip
    title, other = "Sync server is slow on Mondays", "Server outage on 3 May"
    written.change(
        "Set the severity of the only open ticket of the type Incident that Ines Carvalho has reported to Important.",
        {}, f"{columns}'{_id(title)}'", [["Open", "Important", "High", "Open"]],
        _edit(title, {"severity": "Important"}), _edit(other, {"severity": "Important"}),
    )  # fmt: skip
    for title, kind, found, severity, text in (
        ("Lamp blinks while scanning", "Code_Defect", "1.1", "Minor", "Three times a second."),
        ("No page about backups", "Documentation", "trunk", "Important", "Tomas knows how it is done."),
    ):
        fields = {"title": title, "type": kind, "foundin": found, "severity": severity, "icomment": text}
        written.change(
            'Open a new ticket "{{title}}" of the type {{kind}}, found in the version {{found}}, with the severity '
            '{{severity}} and the description "{{text}}".',
            {"title": title, "kind": kind, "found": found, "severity": severity, "text": text},
            "SELECT t.type, t.foundin, t.severity, c.icomment FROM ticket t JOIN ticketchng c ON c.tkt_id = t.tkt_id "
            f"WHERE t.title = '{title}'", [[kind, found, severity, text]],
            [["get", "/tktnew"], ["submit", fields, "tktnew", "preview"], ["submit", {}, "tktnew", "submit"]],
            [["get", "/tktnew"], ["submit", {**fields, "foundin": "1.0"}, "tktnew", "preview"],
             ["submit", {}, "tktnew", "submit"]],
        )  # fmt: skip
    for title, text in (
        ("Tea at the next meeting", "Black or green?"),
        ("A test farm", "Who has an old phone?"),
    ):
        fields = {"title": title, "content": text}
        written.change(
            'Start a thread "{{title}}" in the forum with the text "{{text}}".', {"title": title, "text": text},
            f"SELECT user, comment FROM event WHERE type = 'f' AND comment LIKE '%{title}'",
            [["worker", f"Post: {title}"]], [["get", "/forumnew"], ["submit", fields, "forume1", "submit"]],
            [["get", "/forumnew"], ["submit", {**fields, "content": "?"}, "forume1", "submit"]],
            {"url": f"{BASE}/forume1", "http_method": "POST", "post_data": {**fields, "submit": "Submit"},
             "response_status": 302},
        )  # fmt: skip
    for page, text in (("Servers", "A third one comes in 2026."), ("How to Help", "Tests are welcome, too.")):
        posted = {"name": page, "r": text, "submit": "Append Your Changes"}
        written.change(
            'Append "{{text}}" to the wiki page {{page}}.', {"page": page, "text": text},
            f"SELECT count(*) FROM event WHERE type = 'w' AND user = 'worker' AND comment = ':{page}'", [[1]],
            [["get", f"/wikiappend?name={page.replace(' ', '+')}"],
             ["submit", {"r": text}, "wikiappend", "submit"]],
            [["get", "/wikiappend?name=Setup"], ["submit", {"r": text}, "wikiappend", "submit"]],
            {"url": f"{BASE}/wikiappend", "http_method": "POST", "post_data": posted, "response_status": 302},
            f"/wikiappend?name={page.replace(' ', '+')}",  # No page has a link to it.
        )  # fmt: skip
    for release, tag in (("release-1.1", "tested"), ("release-1.2", "shipped")):
        fields = {"newtag": "on", "tagname": tag}
        written.change(
            "Add the tag {{tag}} to the check-in that is tagged {{release}}.", {"tag": tag, "release": release},
            "SELECT old.tagname FROM tagxref n JOIN tag t ON t.tagid = n.tagid JOIN tagxref o ON o.rid = n.rid "
            f"JOIN tag old ON old.tagid = o.tagid WHERE t.tagname = 'sym-{tag}' AND old.tagname LIKE 'sym-release%'",
            [[f"sym-{release}"]],
            [["get", f"/ci_edit?r={release}"], ["submit", fields, "ci_edit", "preview"],
             ["submit", {}, "ci_edit", "apply"]],
            [["get", "/ci_edit?r=release-1.0"], ["submit", fields, "ci_edit", "preview"],
             ["submit", {}, "ci_edit", "apply"]],
        )  # fmt: skip


def _of_other_projects(written: Written) -> None:
    def ticket(title: str, page: str = "tktview") -> list[Any]:
        found = {"orchard": projects.ORCHARD, "loom": projects.LOOM}[written.project].tickets
        number = [each[0] for each in found].index(title)
        return ["get", f"/{page}/{data.ticket_id(number, written.project)}"]

    def member(user: str) -> list[Any]:
        return [["get", "/setup_ulist"], ["follow", rf"href='(setup_uedit\?id=\d+)'>{user}</a>"]]

    written.project = "orchard"
    written.ask("How many branches has the project {{project}} besides the trunk?", {"project": "Orchard"},
                len(projects.ORCHARD.branches),
                [["get", "/brlist"], ["count", r"timeline\?r=(?!trunk)[a-z-]+\">"]],
                "4")  # fmt: skip
    written.ask("Which member of the project {{project}} may only read? Give the user name.", {"project": "Orchard"},
                "jonas", [["get", "/setup_ulist"], ["read", r">(\w+)</a>\s*<td>u\s"]], "olek")  # fmt: skip
    written.ask("Who opened the ticket that asks to merge the branch {{branch}} of the project {{project}}? Give the "
                "user name.", {"branch": "frost", "project": "Orchard"}, "ines",
                [ticket("Merge the branch frost"), ["read", r"(\w+)@orchard\.example"]], "priya")  # fmt: skip
    written.go("Open the list of the members of the project {{project}}.", {"project": "Orchard"}, "/setup_ulist")
    written.change(
        "Make {{who}} a developer of the project {{project}}.", {"who": "Jonas Weber", "project": "Orchard"},
        "SELECT login FROM user WHERE cap LIKE '%v%' AND login NOT IN ('worker', 'anonymous') ORDER BY login",
        [["ines"], ["jonas"], ["olek"], ["priya"]],
        [*member("jonas"), ["submit", {"av": "on"}, "setup_uedit", "apply"]],
        [*member("jonas"), ["submit", {"ai": "on"}, "setup_uedit", "apply"]],
    )  # fmt: skip
    new = {"login": "petra", "info": "Petra Novak", "pw": "petra-pass", "au": "on"}
    written.change(
        'Make somebody new a member of the project {{project}} who may only read: login "{{user}}", contact info '
        '"{{name}}", password "{{password}}".',
        {"project": "Orchard", "user": new["login"], "name": new["info"], "password": new["pw"]},
        "SELECT info, cap FROM user WHERE login = 'petra'", [["Petra Novak", "u"]],
        [["get", "/setup_uedit"], ["submit", new, "setup_uedit", "apply"]],
        [["get", "/setup_uedit"], ["submit", {**new, "av": "on"}, "setup_uedit", "apply"]],
    )  # fmt: skip
    written.change(
        "Close the branch {{branch}} of the project {{project}}.", {"branch": "grafting", "project": "Orchard"},
        "SELECT b.value FROM tagxref c JOIN tag t ON t.tagid = c.tagid JOIN tagxref b ON b.rid = c.rid JOIN tag n ON "
        "n.tagid = b.tagid WHERE t.tagname = 'closed' AND c.tagtype > 0 AND n.tagname = 'branch'", [["grafting"]],
        [["get", "/ci_edit?r=grafting"], ["submit", {"close": "on"}, "ci_edit", "preview"],
         ["submit", {}, "ci_edit", "apply"]],
        [["get", "/ci_edit?r=pruning"], ["submit", {"close": "on"}, "ci_edit", "preview"],
         ["submit", {}, "ci_edit", "apply"]],
    )  # fmt: skip
    loud = {"newbr": "on", "brname": "loud"}
    written.change(
        'Move the last check-in of the branch {{branch}} of the project {{project}} to a new branch {{new}}.',
        {"branch": "frost", "project": "Orchard", "new": "loud"},
        "SELECT e.comment FROM tagxref b JOIN tag n ON n.tagid = b.tagid JOIN event e ON e.objid = b.rid "
        "WHERE n.tagname = 'branch' AND b.value = 'loud'", [["Ring it louder"]],
        [["get", "/ci_edit?r=frost"], ["submit", loud, "ci_edit", "preview"], ["submit", {}, "ci_edit", "apply"]],
        [["get", "/ci_edit?r=pruning"], ["submit", loud, "ci_edit", "preview"], ["submit", {}, "ci_edit", "apply"]],
    )  # fmt: skip
    done = {"status": "Closed", "resolution": "Fixed"}
    send = [["submit", done, "tktedit", "preview"], ["submit", {}, "tktedit", "submit"]]
    written.change(
        "The branch {{branch}} of the project {{project}} was merged. Set the status of the ticket that asks for it to "
        "Closed and its resolution to Fixed.", {"branch": "pruning", "project": "Orchard"},
        "SELECT title, resolution FROM ticket WHERE status = 'Closed'", [["Merge the branch pruning", "Fixed"]],
        [ticket("Merge the branch pruning", "tktedit"), *send],
        [ticket("Merge the branch frost", "tktedit"), *send],
    )  # fmt: skip
    written.project = "loom"
    written.ask('In which of the projects is the ticket "{{title}}"?', {"title": "Thread count is wrong for wool"},
                "Loom", [["get", "/rptview?rn=1"], ["read", "<title>(Loom)"]], "Orchard")  # fmt: skip
    written.ask("How many threads per cm has {{yarn}}, according to the wiki of the project {{project}}?",
                {"yarn": "silk", "project": "Loom"}, 32,
                [["get", "/wiki?name=Yarns"], ["read", r"silk\s*</td>\s*<td>\s*(\d+)"]], "14")  # fmt: skip
    written.ask("On which day is the merge of the branch {{branch}} of the project {{project}} decided?",
                {"branch": "linen", "project": "Loom"}, "12 December",
                [ticket("Merge the branch linen"), ["read", r"on (\d+ December)"]], "12 November")  # fmt: skip
    written.go("Open the list of the branches of the project {{project}}.", {"project": "Loom"}, "/brlist")
    asked = {"title": "Merge the branch twelve-pedals", "type": "Feature_Request", "severity": "Minor",
             "icomment": "It is ready."}  # fmt: skip
    written.change(
        'Ask in the project {{project}} for a merge of the branch {{branch}}: open a ticket "{{title}}" of the type '
        'Feature_Request, with the severity Minor and the description "{{text}}".',
        {"project": "Loom", "branch": "twelve-pedals", "title": asked["title"], "text": asked["icomment"]},
        "SELECT t.type, t.severity, c.icomment FROM ticket t JOIN ticketchng c ON c.tkt_id = t.tkt_id "
        f"WHERE t.title = '{asked['title']}'", [["Feature_Request", "Minor", "It is ready."]],
        [["get", "/tktnew"], ["submit", asked, "tktnew", "preview"], ["submit", {}, "tktnew", "submit"]],
        [["get", "/tktnew"], ["submit", {**asked, "severity": "Severe"}, "tktnew", "preview"],
         ["submit", {}, "tktnew", "submit"]],
    )  # fmt: skip


def files() -> dict[Path, str]:
    """Return what each file has to contain."""
    written = made()
    return {
        folder / NAME: "[\n" + ",\n".join(json.dumps(item) for item in items) + "\n]\n"
        for folder, items in ((LOCAL, written.tasks), (SOLUTIONS, written.solutions))
    }


if __name__ == "__main__":
    for path, text in files().items():
        path.write_text(text)
