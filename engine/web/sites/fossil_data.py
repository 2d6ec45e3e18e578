"""Data of the Fossil site: people, code, tickets and wiki pages of an invented pantry program.

Everything is made from a fixed seed as Fossil's own artifacts (https://fossil-scm.org/home/doc/trunk/www/
fileformat.wiki). So a repository built from them is always the same, with its ids, dates and authors.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
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
}  # fmt: skip

FILES = ("README.md", "Makefile", "src/main.c", "src/shelf.c", "src/units.c", "src/sync.c", "src/search.c",
         "src/scanner.c", "doc/manual.md", "test/run.sh")  # fmt: skip
VERBS = ("Tidy", "Speed up", "Correct", "Document", "Simplify", "Test", "Rework", "Harden")
RELEASES = {14: "release-1.0", 24: "release-1.1", 33: "release-1.2"}
CHECKINS = 36


def encode(text: str) -> str:
    """Return `text` as one word of a card, with spaces, line breaks and backslashes escaped."""
    return text.replace("\\", "\\\\").replace(" ", "\\s").replace("\n", "\\n")


def artifact(cards: Sequence[str]) -> bytes:
    """Return a structural artifact of these cards, which must be in order, with a checksum at the end."""
    body = ("\n".join(cards) + "\n").encode()
    return body + b"Z " + hashlib.md5(body, usedforsecurity=False).hexdigest().encode() + b"\n"


def ticket_id(number: int) -> str:
    """Return the id of ticket `number` (index into TICKETS), 40 hexadecimal digits."""
    return hashlib.sha1(f"larder ticket {number}".encode(), usedforsecurity=False).hexdigest()


@dataclass(slots=True)
class _Clock:
    now: datetime

    def tick(self, hours: float) -> str:
        self.now += timedelta(seconds=round(hours * 3600))
        return self.now.strftime("%Y-%m-%dT%H:%M:%S.000")


def artifacts() -> Iterator[bytes]:
    """Yield every artifact of the repository; they are the same in each call."""
    rng = random.Random(SEED)
    yield from _checkins(rng)
    clock = _Clock(datetime(2025, 3, 3, 8, 0))
    for number, (title, kind, status, severity, priority, subsystem, reporter, comment) in enumerate(TICKETS):
        fields = {
            "foundin": rng.choice(("1.0", "1.1", "trunk")), "priority": priority,
            "icomment": comment, "severity": severity,
            "resolution": "Fixed" if status in ("Fixed", "Tested", "Closed") else "Open",
            "status": status, "subsystem": subsystem, "title": title, "type": kind,
            "login": reporter, "mimetype": "text/plain", "private_contact": f"{reporter}@larder.example",
        }  # fmt: skip
        cards = [f"D {clock.tick(rng.uniform(20, 90))}"]
        cards += [f"J {name} {encode(fields[name])}" for name in sorted(fields)]
        yield artifact([*cards, f"K {ticket_id(number)}", f"U {reporter}"])
    clock = _Clock(datetime(2025, 3, 10, 9, 0))
    for page, (author, text) in PAGES.items():
        when = clock.tick(rng.uniform(20, 60))
        size = len(text.encode())
        yield artifact(
            [f"D {when}", f"L {encode(page)}", "N text/x-markdown", f"U {author}", f"W {size}", text]
        )


def name_of(content: bytes) -> str:
    """Return the name that Fossil gives to an artifact with this content."""
    return hashlib.sha3_256(content).hexdigest()


def _checkins(rng: random.Random) -> Iterator[bytes]:
    clock = _Clock(datetime(2025, 3, 1, 9, 0))
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
        cards = [f"C {encode(what)}", f"D {clock.tick(rng.uniform(30, 220))}"]
        cards += [f"F {encode(each)} {name_of(texts[each].encode())}" for each in sorted(FILES)]
        cards += [f"P {parent}"] if parent else []
        cards += [] if parent else ["T *branch * trunk", "T *sym-trunk *"]
        manifest = artifact([*cards, f"U {who}"])
        parent = name_of(manifest)
        yield manifest
        if number in RELEASES:
            yield artifact([f"D {clock.tick(1)}", f"T +sym-{RELEASES[number]} {parent}", "U mara"])
