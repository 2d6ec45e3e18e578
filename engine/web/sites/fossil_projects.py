"""The projects of the Fossil site: Larder (`engine.web.sites.fossil_data`) and two smaller ones, with their members."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from engine.web.sites import fossil_data as data
from engine.web.sites.fossil_data import Clock, manifest_of, name_of, page_of, ticket_id, ticket_of

READER, DEVELOPER, OWNER = "u", "v", "abcdefghijklmnoprtuvwz2345"
"""Rights of members, as Fossil writes them."""


@dataclass(frozen=True)
class Project:
    """A project.

    Attributes:
        key: Its name in addresses, and of its file.
        members: Their rights by user name.
        artifacts: All of its content; the same at each call.
    """

    key: str
    name: str
    description: str
    members: Mapping[str, str]
    artifacts: Callable[[], Iterator[bytes]] = field(repr=False)


@dataclass(frozen=True)
class _Small:
    """The content of a small project.

    Attributes:
        files: Names of its files.
        trunk: Author, comment and file of each check-in.
        branches: By name: number of the check-in where it begins, and its check-ins as in the trunk.
        tickets: Title, type, status, severity, priority, reporter, comment.
        pages: Author and text by the name of a wiki page.
    """

    files: tuple[str, ...]
    trunk: tuple[tuple[str, str, str], ...]
    branches: Mapping[str, tuple[int, tuple[tuple[str, str, str], ...]]]
    tickets: tuple[tuple[str, str, str, str, str, str, str], ...]
    pages: Mapping[str, tuple[str, str]]


ORCHARD = _Small(
    ("README.md", "src/tree.py", "src/harvest.py", "src/weather.py", "doc/pruning.md"),
    (
        ("ines", "Begin", "README.md"), ("ines", "Keep a list of trees", "src/tree.py"),
        ("olek", "Count the harvest", "src/harvest.py"), ("ines", "Read the weather", "src/weather.py"),
        ("priya", "Explain pruning", "doc/pruning.md"), ("ines", "Trees have an age", "src/tree.py"),
        ("olek", "Harvest by week", "src/harvest.py"), ("ines", "Warn of frost", "src/weather.py"),
    ),
    {
        "pruning": (5, (("priya", "Plan the pruning", "src/tree.py"), ("priya", "Remind in February", "src/tree.py"))),
        "grafting": (4, (("olek", "Trees with two kinds", "src/tree.py"),)),
        "frost": (6, (("ines", "Ask for the frost twice a night", "src/weather.py"),
                      ("ines", "Ring the bell", "src/weather.py"), ("olek", "Ring it louder", "src/weather.py"))),
    },
    (
        ("Merge the branch pruning", "Feature_Request", "Open", "Minor", "High", "priya",
         "It is ready. Please merge it into the trunk before February."),
        ("Merge the branch frost", "Feature_Request", "Review", "Important", "High", "ines",
         "Two people should look at it first."),
        ("Pears are counted as apples", "Code_Defect", "Open", "Severe", "High", "olek", "Since the last harvest."),
        ("No map of the trees", "Feature_Request", "Deferred", "Cosmetic", "Low", "priya", "A sketch would do."),
        ("Weather of the wrong town", "Code_Defect", "Verified", "Important", "Medium", "ines",
         "It shows Sallow Ford instead of Harwick."),
    ),
    {
        "Home": ("ines", "Orchard knows each tree. See [Members](/wiki?name=Members) and "
                 "[Branches](/wiki?name=Rules+for+Branches).\n"),
        "Members": ("ines", "* Ines Carvalho: trees and weather\n* Olek Nowak: harvest\n* Priya Raman: pruning\n"),
        "Rules for Branches": ("priya", "A branch is merged when its ticket has been open for five days. Afterwards "
                               "the branch is closed.\n"),
    },
)  # fmt: skip
LOOM = _Small(
    ("README.md", "src/pattern.c", "src/thread.c", "src/pedal.c"),
    (
        ("jonas", "Begin", "README.md"), ("jonas", "Draw patterns", "src/pattern.c"),
        ("tomas", "Threads have colours", "src/thread.c"), ("jonas", "Four pedals", "src/pedal.c"),
        ("mara", "Patterns repeat", "src/pattern.c"), ("jonas", "Eight pedals", "src/pedal.c"),
    ),
    {
        "linen": (3, (("tomas", "Linen is stiff", "src/thread.c"), ("tomas", "Linen breaks", "src/thread.c"))),
        "twelve-pedals": (5, (("mara", "Twelve pedals", "src/pedal.c"),)),
    },
    (
        ("Pattern is mirrored", "Code_Defect", "Open", "Important", "High", "mara", "Left and right are exchanged."),
        ("Thread count is wrong for wool", "Code_Defect", "Open", "Minor", "Medium", "tomas", "Two too many."),
        ("Merge the branch linen", "Feature_Request", "Open", "Minor", "Low", "tomas",
         "Jonas Weber decides about it on 12 December."),
    ),
    {
        "Home": ("jonas", "Loom draws patterns for looms with up to eight pedals. See [Yarns](/wiki?name=Yarns).\n"),
        "Yarns": ("tomas", "| yarn | threads per cm |\n|---|---|\n| linen | 14 |\n| wool | 9 |\n| silk | 32 |\n"),
    },
)  # fmt: skip


def code_of(key: str) -> str:
    """Return a project's code, 40 hexadecimal digits."""
    return hashlib.sha1(f"{key} project".encode(), usedforsecurity=False).hexdigest()


def _small(key: str, content: _Small) -> Iterator[bytes]:
    """Yield every artifact of a small project."""
    rng = random.Random(f"{data.SEED} {key}")
    clock = Clock(datetime(2025, 6, 2, 9, 0))
    texts = {file: f"{file} of {key}\n" for file in content.files}
    for text in texts.values():
        yield text.encode()
    trunk: list[tuple[str, dict[str, str]]] = []
    for number, (who, comment, file) in enumerate(content.trunk):
        texts[file] += f"{comment}\n"
        yield texts[file].encode()
        tags = [] if trunk else ["T *branch * trunk", "T *sym-trunk *"]
        made = manifest_of(comment, clock.tick(rng.uniform(20, 90)), texts, [p for p, _ in trunk[-1:]], tags, who)
        trunk.append((name_of(made), dict(texts)))
        yield made
        if number == len(content.trunk) - 2:
            yield data.artifact([f"D {clock.tick(1)}", f"T +sym-v1 {trunk[-1][0]}", f"U {who}"])
    for branch, (start, checkins) in content.branches.items():
        parent, here = trunk[start][0], dict(trunk[start][1])
        for number, (who, comment, file) in enumerate(checkins):
            here[file] += f"{comment}\n"
            yield here[file].encode()
            tags = [] if number else [f"T *branch * {branch}", f"T *sym-{branch} *", "T -sym-trunk *"]
            made = manifest_of(comment, clock.tick(rng.uniform(5, 60)), here, [parent], tags, who)
            parent = name_of(made)
            yield made
    for number, (title, kind, status, severity, priority, reporter, comment) in enumerate(content.tickets):
        fields = {
            "title": title, "type": kind, "status": status, "severity": severity, "priority": priority,
            "login": reporter, "icomment": comment, "mimetype": "text/plain", "foundin": "trunk",
            "resolution": "Open", "private_contact": f"{reporter}@{key}.example",
        }  # fmt: skip
        yield ticket_of(clock.tick(rng.uniform(5, 60)), fields, ticket_id(number, key))
    for page, (author, text) in content.pages.items():
        yield page_of(clock.tick(rng.uniform(5, 60)), page, author, text)


PROJECTS = (
    Project(
        data.PROJECT.lower(), data.PROJECT, data.DESCRIPTION,
        {**dict.fromkeys(data.PEOPLE, DEVELOPER), "mara": "s", data.AGENT[0]: "cefghijklmnoprtuvwz2345"},
        data.artifacts,
    ),
    Project(
        "orchard", "Orchard", "Orchard keeps a list of trees, harvests and frosts.",
        {"mara": "s", "ines": DEVELOPER, "olek": DEVELOPER, "priya": DEVELOPER, "jonas": READER, data.AGENT[0]: OWNER},
        partial(_small, "orchard", ORCHARD),
    ),
    Project(
        "loom", "Loom", "Loom draws patterns for weaving.",
        {"mara": "s", "jonas": "a" + DEVELOPER, "tomas": DEVELOPER, "ines": READER, data.AGENT[0]: DEVELOPER},
        partial(_small, "loom", LOOM),
    ),
)  # fmt: skip
"""All projects. The user of the tasks is an owner of Orchard, and may write in the other two."""
