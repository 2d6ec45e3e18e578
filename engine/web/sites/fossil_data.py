"""Data of the Fossil site: people, code, tickets and wiki pages of an invented pantry program.

Everything is made from a fixed seed as Fossil's own artifacts (https://fossil-scm.org/home/doc/trunk/www/
fileformat.wiki). So a repository built from them is always the same, with its ids, dates and authors.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

SEED = 20250301
PROJECT = "Larder"
DESCRIPTION = "Larder keeps count of what is in the kitchen and says what to buy."
PEOPLE = {
    "mara": "Mara Lindqvist", "tomas": "Tomas Okafor", "ines": "Ines Carvalho", "jonas": "Jonas Weber",
    "priya": "Priya Raman", "olek": "Olek Nowak",
}  # fmt: skip
AGENT = ("worker", "worker-pass")

TICKETS = (
    # title, type, status, severity, priority, subsystem, reporter, comment
    ("Crash on save", "Code_Defect", "Open", "Critical", "High", "storage", "ines",
     "Saving a shelf with more than 500 items ends the program."),
    ("Scanner reads the same code twice", "Code_Defect", "Open", "Important", "High", "scanner", "jonas",
     "One beep, two items on the list."),
    ("Export to CSV drops the unit", "Code_Defect", "Open", "Important", "Medium", "export", "priya",
     "The column is there, but it is empty."),
    ("Dark theme for the shopping list", "Feature_Request", "Open", "Cosmetic", "Low", "interface", "olek",
     "At night the white page is too bright."),
    ("Sync fails behind a proxy", "Code_Defect", "Verified", "Severe", "High", "sync", "tomas",
     "The proxy settings of the system are not read."),
    ("Manual has no chapter about sync", "Documentation", "Open", "Minor", "Medium", "manual", "mara",
     "People ask about it every week."),
    ("Build fails with gcc 14", "Build_Problem", "Fixed", "Severe", "Immediate", "build", "jonas",
     "A missing include in units.c."),
    ("Best-before date off by one day", "Code_Defect", "Closed", "Important", "High", "storage", "ines",
     "Only west of Greenwich."),
    ("Typo in the welcome page", "Documentation", "Closed", "Cosmetic", "Low", "interface", "olek",
     "It says Lader."),
    ("Sort shelves by name", "Feature_Request", "Deferred", "Minor", "Low", "interface", "priya",
     "They come in the order of their making."),
    ("Database grows without bound", "Code_Defect", "Open", "Severe", "High", "storage", "tomas",
     "Deleted items are never purged."),
    ("Wrong total for half packs", "Code_Defect", "Fixed", "Important", "Medium", "units", "mara",
     "Half a pack counts as a whole one."),
    ("Add a unit for bunches", "Feature_Request", "Open", "Minor", "Low", "units", "olek",
     "Parsley and radishes come in bunches."),
    ("Server outage on 3 May", "Incident", "Closed", "Critical", "Immediate", "sync", "tomas",
     "The sync server was gone for two hours."),
    ("Search ignores umlauts", "Code_Defect", "Open", "Minor", "Medium", "search", "jonas",
     "Searching for Moehre does not find the carrot in German."),
    ("Search is slow on old phones", "Code_Defect", "Review", "Important", "Medium", "search", "priya",
     "Four seconds for a list of 300 items."),
    ("Print the shopping list", "Feature_Request", "Closed", "Minor", "Low", "export", "ines",
     "Some shops have no signal."),
    ("Undo for deleted shelves", "Feature_Request", "Open", "Important", "Medium", "storage", "mara",
     "A shelf is gone with one click."),
    ("Barcode table is out of date", "Incident", "Open", "Minor", "Medium", "scanner", "priya",
     "New brands are unknown."),
    ("Tests fail in other time zones", "Build_Problem", "Open", "Minor", "Low", "build", "jonas",
     "Two tests expect UTC."),
    ("Scanner does not start without a camera", "Code_Defect", "Tested", "Severe", "Medium", "scanner", "olek",
     "It should say so instead of waiting."),
    ("Explain units in the manual", "Documentation", "Fixed", "Minor", "Low", "manual", "ines",
     "Nobody knows what a portion is."),
    ("Sync shows wrong clock", "Code_Defect", "Closed", "Minor", "Low", "sync", "tomas",
     "The time of the last sync is in UTC."),
    ("Share a list with neighbours", "Feature_Request", "Deferred", "Important", "Medium", "sync", "priya",
     "Read only would be enough."),
)  # fmt: skip

PAGES = {
    "Home": ("mara", "Welcome to Larder.\n\n* [Setup](/wiki?name=Setup)\n* [Release Plan](/wiki?name=Release+Plan)\n"
             "* [Team](/wiki?name=Team)\n* [Style Guide](/wiki?name=Style+Guide)\n* [Glossary](/wiki?name=Glossary)\n"),
    "Setup": ("jonas", "Install the compiler and SQLite, then run `make`. The tests take about four minutes.\n\n"
              "Default port of the sync server: 4711.\n"),
    "Release Plan": ("mara", "| release | date | manager |\n|---|---|---|\n| 1.0 | 2025-04-14 | Mara Lindqvist |\n"
                     "| 1.1 | 2025-06-02 | Tomas Okafor |\n| 1.2 | 2025-08-25 | Priya Raman |\n"
                     "| 2.0 | 2025-11-17 | Ines Carvalho |\n"),
    "Team": ("ines", "* Mara Lindqvist: lead, Uppsala\n* Tomas Okafor: sync, Lagos\n* Ines Carvalho: storage, Porto\n"
             "* Jonas Weber: build, Kassel\n* Priya Raman: search, Chennai\n* Olek Nowak: interface, Gdynia\n"),
    "Style Guide": ("priya", "Lines end at column 90. Functions are named with verbs. No abbreviations.\n"),
    "Glossary": ("olek", "Shelf: a place where things stand.\n\nPack: what is bought in one piece.\n\n"
                 "Portion: what one person eats at one meal.\n"),
    "Meeting Notes": ("tomas", "2025-05-06: sync moves to port 4712 with 2.0. Next meeting on 20 May in room B12."
                      "\n"),
    "Old Ideas": ("olek", "A robot that fetches the milk.\n"),
    "Sync Protocol": ("tomas", "Lists travel as lines of text. A line has 512 characters at most. A client waits 30 "
                      "seconds for an answer.\n"),
    "How to Help": ("mara", "Take a ticket with the priority Low first. Ask its reporter before you begin.\n"),
    "Servers": ("tomas", "| name | place | since |\n|---|---|---|\n| pantry | Lagos | 2024 |\n"
                "| cellar | Kassel | 2025 |\n"),
}  # fmt: skip

FILES = ("README.md", "Makefile", "src/main.c", "src/shelf.c", "src/units.c", "src/sync.c", "src/search.c",
         "src/scanner.c", "doc/manual.md", "test/run.sh")  # fmt: skip
VERBS = ("Tidy", "Speed up", "Correct", "Document", "Simplify", "Test", "Rework", "Harden")
RELEASES = {14: "release-1.0", 24: "release-1.1", 33: "release-1.2"}
CHECKINS = 36
BRANCHES = {
    # name: (check-in of the trunk where it begins, author, comments of its check-ins, files, whether it was merged)
    "faster-search": (
        20,
        "priya",
        ("Index the names of items", "Use the index in search", "Measure the index"),
        ("src/search.c", "src/search.c", "test/run.sh"),
        True,
    ),
    "half-packs": (
        23,
        "mara",
        ("Count half packs", "Round totals at the end"),
        ("src/units.c", "src/units.c"),
        True,
    ),
    "proxy": (
        28,
        "tomas",
        (
            "Read the proxy of the system",
            "Ask again if the proxy says no",
            "Tell the user about the proxy",
            "Close sockets behind a proxy",
        ),
        ("src/sync.c",) * 4,
        False,
    ),
    "dark-theme": (
        31,
        "olek",
        ("Collect all colours", "Add dark colours"),
        ("src/main.c", "src/main.c"),
        False,
    ),
    "two-cameras": (33, "jonas", ("Choose between cameras",), ("src/scanner.c",), False),
}
REMARKS = (
    # ticket's title, who, comment
    ("Crash on save", "tomas", "I see it with 480 items, too, if their names are long."),
    ("Crash on save", "priya", "It is gone if the search index is switched off."),
    ("Sync fails behind a proxy", "jonas", "The proxy of the school in Kassel shows it every time."),
    ("Sync fails behind a proxy", "tomas", "Work goes on in the branch proxy."),
    ("Search ignores umlauts", "ines", "The same with the tilde in Portuguese."),
    ("Search is slow on old phones", "priya", "See the branch faster-search."),
    ("Dark theme for the shopping list", "olek", "The colours are in the branch dark-theme."),
    ("Barcode table is out of date", "mara", "The new table is published on 15 September."),
    ("Undo for deleted shelves", "ines", "Thirty days would be enough."),
    ("Tests fail in other time zones", "priya", "They pass with TZ=UTC."),
)
MORE_TICKETS = (
    ("Sync asks for the password twice", "Code_Defect", "Open", "Minor", "Low", "sync", "olek",
     "Once at the start and once after a minute."),
    ("Manual names a menu that is gone", "Documentation", "Open", "Minor", "Low", "manual", "jonas",
     "The menu Extras went away with 1.1."),
    ("Units are lost after import", "Code_Defect", "Verified", "Severe", "High", "units", "tomas",
     "All items are counted in pieces afterwards."),
    ("Export stops at the first empty shelf", "Code_Defect", "Open", "Important", "High", "export", "mara",
     "Shelves after it are missing in the file."),
    ("Scanner is blind in the dark", "Code_Defect", "Open", "Minor", "Medium", "scanner", "ines",
     "The lamp of the phone stays off."),
    ("Build needs a network", "Build_Problem", "Open", "Important", "Medium", "build", "priya",
     "It downloads the table of barcodes each time."),
    ("Shelf names of 64 letters are cut", "Code_Defect", "Review", "Minor", "Low", "storage", "jonas",
     "One letter is missing at the end."),
    ("Sync server is slow on Mondays", "Incident", "Open", "Severe", "High", "sync", "ines",
     "Everybody writes the list for the week then."),
)  # fmt: skip
THREADS: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    # title, (who, text) of each post
    ("Which scanner do you use?", (
        ("olek", "Mine gave up today. Which one do you use?"),
        ("ines", "A Corvid from the market, for eleven years now."), ("jonas", "The camera of the phone."),
    )),
    ("Release 2.0 on a Monday?", (
        ("ines", "The plan says 17 November, which is a Monday."), ("mara", "Monday it is."),
        ("tomas", "The sync server needs a restart before."), ("priya", "At six, please."),
    )),
    ("Where do translations live?", (
        ("priya", "I have one into Tamil."), ("olek", "Send it to the list of strings."),
    )),
    ("Meeting in spring", (
        ("mara", "Gdynia or Porto?"), ("ines", "Porto."), ("olek", "Gdynia."), ("jonas", "Porto."),
        ("tomas", "Porto, if there is fish."),
    )),
    ("A logo", (
        ("olek", "A jar with a lid. What do you think?"), ("mara", "I like the lid."),
    )),
    ("Backups", (
        ("tomas", "The server is saved each night at three."), ("jonas", "Was it ever read back?"),
        ("tomas", "On 2 June, in forty minutes."),
    )),
)  # fmt: skip


def encode(text: str) -> str:
    """Return `text` as one word of a card, with spaces, line breaks and backslashes escaped."""
    return text.replace("\\", "\\\\").replace(" ", "\\s").replace("\n", "\\n")


def artifact(cards: Sequence[str]) -> bytes:
    """Return a structural artifact of these cards, which must be in order, with a checksum at the end."""
    body = ("\n".join(cards) + "\n").encode()
    return body + b"Z " + hashlib.md5(body, usedforsecurity=False).hexdigest().encode() + b"\n"


def ticket_id(number: int, project: str = "larder") -> str:
    """Return the id of ticket `number` of a project (index into TICKETS), 40 hexadecimal digits."""
    return hashlib.sha1(f"{project} ticket {number}".encode(), usedforsecurity=False).hexdigest()


@dataclass(slots=True)
class Clock:
    """Time that goes on by hours, written as cards have it."""

    now: datetime

    def tick(self, hours: float) -> str:
        """Let so many hours pass; return the time."""
        self.now += timedelta(seconds=round(hours * 3600))
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000")


def artifacts() -> Iterator[bytes]:
    """Yield every artifact of the repository; they are the same in each call."""
    rng = random.Random(SEED)
    trunk: list[tuple[str, dict[str, str]]] = []
    yield from _checkins(rng, trunk)
    clock = Clock(datetime(2025, 3, 3, 8, 0))
    for number, (title, kind, status, severity, priority, subsystem, reporter, comment) in enumerate(
        (*TICKETS, *MORE_TICKETS)
    ):
        fields = {
            "foundin": rng.choice(("1.0", "1.1", "trunk")), "priority": priority,
            "icomment": comment, "severity": severity,
            "resolution": "Fixed" if status in ("Fixed", "Tested", "Closed") else "Open",
            "status": status, "subsystem": subsystem, "title": title, "type": kind,
            "login": reporter, "mimetype": "text/plain", "private_contact": f"{reporter}@larder.example",
        }  # fmt: skip
        yield ticket_of(clock.tick(rng.uniform(20, 90)), fields, ticket_id(number))
    clock = Clock(datetime(2025, 3, 10, 9, 0))
    for page, (author, text) in PAGES.items():
        yield page_of(clock.tick(rng.uniform(20, 60)), page, author, text)
    yield from _branches(rng, trunk)
    yield from _talk(rng)


def ticket_of(when: str, fields: Mapping[str, str], key: str) -> bytes:
    """Return a ticket with these fields, written by its `login`."""
    cards = [f"J {name} {encode(fields[name])}" for name in sorted(fields)]
    return artifact([f"D {when}", *cards, f"K {key}", f"U {fields['login']}"])


def page_of(when: str, name: str, author: str, text: str) -> bytes:
    """Return a page of the wiki in Markdown."""
    size = len(text.encode())
    return artifact([f"D {when}", f"L {encode(name)}", "N text/x-markdown", f"U {author}", f"W {size}", text])


def name_of(content: bytes) -> str:
    """Return the name that Fossil gives to an artifact with this content."""
    return hashlib.sha3_256(content).hexdigest()


def _branches(rng: random.Random, trunk: Sequence[tuple[str, dict[str, str]]]) -> Iterator[bytes]:
    """Yield the check-ins of the branches, and those that merge them into the trunk."""
    clock = Clock(datetime(2025, 8, 5, 9, 0))
    tip, texts = trunk[-1][0], dict(trunk[-1][1])
    for branch, (number, who, comments, files, merged) in BRANCHES.items():
        parent, here = trunk[number][0], dict(trunk[number][1])
        for row, (comment, file) in enumerate(zip(comments, files, strict=True)):
            here[file] += f"{branch} {row}\n"
            tags = [f"T *branch * {branch}", f"T *sym-{branch} *", "T -sym-trunk *"] if row == 0 else []
            yield here[file].encode()
            manifest = manifest_of(comment, clock.tick(rng.uniform(5, 60)), here, [parent], tags, who)
            parent = name_of(manifest)
            yield manifest
        if merged:
            for file in files:
                texts[file] += f"merge {branch}\n"
                yield texts[file].encode()
            manifest = manifest_of(f"Merge {branch}", clock.tick(9), texts, [tip, parent], [], "mara")
            tip = name_of(manifest)
            yield manifest


def manifest_of(
    comment: str, when: str, texts: Mapping[str, str], parents: Sequence[str], tags: Sequence[str], who: str
) -> bytes:
    """Return a check-in with these files, by name, and parents."""
    files = [f"F {encode(each)} {name_of(texts[each].encode())}" for each in sorted(texts)]
    origin = [f"P {' '.join(parents)}"] if parents else []
    return artifact([f"C {encode(comment)}", f"D {when}", *files, *origin, *tags, f"U {who}"])


def _talk(rng: random.Random) -> Iterator[bytes]:
    """Yield later comments on tickets, and the posts of the project's forum."""
    clock = Clock(datetime(2025, 9, 1, 8, 0))
    titles = [title for title, *_ in TICKETS]
    for title, who, text in REMARKS:
        when = clock.tick(rng.uniform(4, 40))
        said = [f"J icomment {encode(text)}", f"J login {who}", "J mimetype text/plain"]
        yield artifact([f"D {when}", *said, f"K {ticket_id(titles.index(title))}", f"U {who}"])
    for posts in threads().values():
        yield from posts


def threads() -> dict[str, list[bytes]]:
    """Return the posts of the forum by the title of their thread, the same at each call."""
    rng, clock = random.Random(SEED), Clock(datetime(2025, 9, 20, 8, 0))
    made: dict[str, list[bytes]] = {}
    for title, posts in THREADS:
        written = made.setdefault(title, [])
        for who, text in posts:
            place = [f"H {encode(title)}"]
            if written:
                place = [f"G {name_of(written[0])}", f"I {name_of(written[-1])}"]
            size = len(text.encode())
            when = clock.tick(rng.uniform(2, 30))
            written.append(
                artifact([f"D {when}", *place, "N text/x-markdown", f"U {who}", f"W {size}", text])
            )
    return made


def _checkins(rng: random.Random, made: list[tuple[str, dict[str, str]]]) -> Iterator[bytes]:
    """Yield the check-ins of the trunk; `made` gets the name and the files of each."""
    clock = Clock(datetime(2025, 3, 1, 9, 0))
    texts = {file: f"{file} of {PROJECT}\n" for file in FILES}
    parent = ""
    people = list(PEOPLE)
    for number in range(CHECKINS):
        who = rng.choices(people, weights=(4, 6, 5, 3, 7, 2))[0]
        file = rng.choice(FILES)
        verb = rng.choice(VERBS)
        texts[file] += f"{verb.lower()} {number}\n"
        for content in texts.values() if number == 0 else (texts[file],):
            yield content.encode()
        what = f"{verb} {file.rpartition('/')[2]}" if number else "Begin"
        begin = [] if parent else ["T *branch * trunk", "T *sym-trunk *"]
        when = clock.tick(rng.uniform(30, 220))
        manifest = manifest_of(what, when, texts, [parent] if parent else [], begin, who)
        parent = name_of(manifest)
        made.append((parent, dict(texts)))
        yield manifest
        if number in RELEASES:
            yield artifact([f"D {clock.tick(1)}", f"T +sym-{RELEASES[number]} {parent}", "U mara"])
