"""A crowded story of our own: many things in one room, many verbs, many topics to ask about.

Searching for valid actions takes longest in such stories. The source is written here rather than kept as a file,
since most of it is lists. The solution uses the story's own verbs, a tool, containers, a lock, topics that were read
or heard before, and a second room.
"""

from __future__ import annotations

from pathlib import Path

from engine.games.stories.inform import compile_story

_THINGS = """
kettle ladle anvil bellows tongs candle mirror goblet basket saddle hourglass compass trumpet barrel pillow blanket
statue carpet bucket shovel
"""
THINGS = _THINGS.split()
"""Plain things, besides the ten that have a part in the solution."""
_VERBS = """
abandon admire align amplify anoint balance bandage bend bless boil bounce braid brew caress chill chisel coat cool
count cradle dent dip dissolve drain engrave etch fan file flatten flip fold frame fry gild glaze grease grind heat
hammer juggle knead lather loosen measure melt mend mould notch paint patch pickle plane pluck pound ripen sand
"""
VERBS = _VERBS.split()
"""Verbs of the story's own, besides the ninety or so of the Inform library."""
_PAIRED = "bolt brace chain glue graft hitch hook latch rivet weld"
PAIRED = _PAIRED.split()
"""Verbs of the story's own that take two things."""
_SYLLABLES = "ab cor den fel gam hul jor kel lim nor"
SYLLABLES = _SYLLABLES.split()
SOLUTION = (
    "take ledger; ask tinker about coraber; take oilcan; oil hinge with oilcan; unlock chest with brass key; "
    "open chest; take lens; hook lens to tripod; east; ask hermit about dengamer; take feather; west; "
    "give feather to tinker"
)


def topics(count: int) -> list[str]:
    """Return words that nobody else uses."""
    return [f"{a}{b}{last}er" for last in ("", "b") for a in SYLLABLES for b in SYLLABLES][:count]


def source(things: int = 30, verbs: int = 150, words: int = 200) -> str:
    """Return the story as Inform 6 source, with about so many things in the first room, verbs, and topics."""
    own = VERBS[: max(0, verbs - 90)]
    plain = [
        f"""Object the_{name} "{name}" workshop with name '{name}' 'thing', description "A plain {name}.",
  before [; {own[i % len(own)].title()}: if (self hasnt attr1) {{ give self attr1; "The {name} is changed."; }} ];"""
        for i, name in enumerate(THINGS[: max(0, things - 10)])
    ]
    asked = [word for word in topics(words) if word not in ("coraber", "dengamer")]
    talk = "\n".join(f"    '{word}': \"~Ah, {word}. An old word.~\";" for word in asked)
    single = "\n".join(
        f"""[ {verb.title()}Sub; if (noun has animate) "That would be rude.";
  print_ret "You {verb} ", (the) noun, " for a while."; ];"""
        for verb in own
    )
    double = "\n".join(
        f"""[ {verb.title()}Sub;
  if (noun == lens && second == tripod) {{ if (lens notin tripod) score++; move lens to tripod; "It fits."; }}
  print_ret "You cannot {verb} ", (the) noun, " to ", (the) second, "."; ];"""
        for verb in PAIRED
    )
    grammar = "\n".join(
        [f"Verb '{verb}' * noun -> {verb.title()};" for verb in own]
        + [f"Verb '{verb}' * noun 'to' noun -> {verb.title()} * noun 'with' noun -> {verb.title()};" for verb in PAIRED]
    )
    return f"""!% -~S
! Solution: {SOLUTION}
Constant Story "Crowded";
Constant Headline "^A proving ground.^";
Constant MAX_SCORE 6;
Include "Parser";
Attribute attr1;
Include "VerbLib";
Object workshop "Workshop"
  with description "The workshop of a tinker, full of things. A door leads east.", e_to cell,
  has light;
{chr(10).join(plain)}
Object tinker "tinker" workshop
  with name 'tinker' 'man', description "He hums.",
  life [; Ask: switch (second) {{
    'coraber': if (self has general) "~You have it.~";
      give self general; score++; move oilcan to location; "~Coraber? You need this,~ and he puts an oilcan down.";
{talk}
    }} "~I could not say.~";
    Give: if (noun == feather) {{ remove feather; score++; deadflag = 2; "~At last!~"; }} ],
  has animate;
Object ledger "ledger" workshop with name 'ledger',
  description "All the pages speak of one thing: coraber. The hermit knows of dengamer.";
Object oilcan "oilcan" with name 'oilcan', description "Full.";
Object hinge "hinge" workshop with name 'hinge', description "Rusty; a brass key is stuck in it.", has scenery;
Object brasskey "brass key" with name 'brass' 'key', description "Small.";
Object chest "chest" workshop with name 'chest', description "Of iron.", with_key brasskey,
  has static container openable lockable locked;
Object lens "lens" chest with name 'lens', description "It bends the light.";
Object tripod "tripod" workshop with name 'tripod', description "It lacks a lens.", has static supporter;
Object table "table" workshop with name 'table', description "Of oak.", has static supporter;
Object book "red book" table with name 'red' 'book', description "Full of drawings.";
Object box "tin box" table with name 'tin' 'box', description "Of tin.", has container openable;
Object hat "hat" workshop with name 'hat', description "A felt hat.", has clothing;
Object lamp "lamp" workshop with name 'lamp', description "Of glass.", has switchable;
Object cell "Cell" with description "A bare cell. The workshop is west.", w_to workshop, has light;
Object hermit "hermit" cell with name 'hermit', description "He is silent.",
  life [; Ask: if (second == 'dengamer' && feather in nothing)
      {{ move feather to location; score++; "A feather floats down."; }}
    "He says nothing."; ],
  has animate;
Object feather "feather" with name 'feather', description "White.";
[ OilSub;
  if (noun ~= hinge || second ~= oilcan) "It needs no oil.";
  if (hinge has general) "It is smooth.";
  give hinge general; score++; move brasskey to player; "The key comes off the hinge."; ];
[ Initialise; location = workshop; ];
{single}
{double}
Include "Grammar";
{grammar}
Verb 'oil' * noun 'with' held -> Oil;
"""


def compiled(folder: Path, version: int = 5, **sizes: int) -> Path:
    """Compile the story into `folder` and return the file."""
    written = folder / "crowded.inf"
    written.write_text(source(**sizes), encoding="utf-8")
    return compile_story(written, folder, version=version)
