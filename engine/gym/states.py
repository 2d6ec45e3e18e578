"""States of text environments. They are those of games, with tokens for drawings and numbers in addition.

In the prose of games, a number is usually a score or a clock, so states of games leave numbers out. In other
environments, a map, a board or a hand of cards may be the whole observation.
"""

from __future__ import annotations

import re

from engine import texts
from engine.games.states.phrases import sentences, short
from engine.games.states.state import abstract as of_prose

_WORD = re.compile(r"[a-z]{2,}")


def abstract(
    scene: str, inventory: str, place: str, said: str = "", room: int = 0, marks: tuple[str, ...] = ()
) -> tuple[str, tuple[str, ...]]:
    """Return the text `[State: noun, ...]` and the sorted tokens of one situation.

    Arguments and tokens are those of `engine.games.states.state.abstract`, with two further kinds of tokens:
    `see:ROW:LINE` for a drawn line (one without a word in lower case), and `see:SENTENCE` for a sentence with
    a number.
    """
    rows = scene.splitlines()
    drawn = [(number, row.strip()) for number, row in enumerate(rows) if row.strip() and not _WORD.search(row)]
    prose = "\n".join(row for row in rows if _WORD.search(row))
    text, tokens = of_prose(prose, inventory, place, said, room, marks)
    more = {f"see:{number}:{short(row)}" for number, row in drawn}
    more |= {
        f"see:{short(' '.join(texts.words(line)))}" for line in sentences(prose) if any(map(str.isdigit, line))
    }
    if drawn:
        inside = text.removeprefix("[State: ").removesuffix("]")
        text = f"[State: {', '.join(filter(None, [inside, *(row for _, row in drawn)]))}]"
    return text, tuple(sorted({*tokens, *more}))
