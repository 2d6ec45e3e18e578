"""Commands that a story never sees, because they would leak state between episodes or end the interpreter."""

from __future__ import annotations

import re

_OURS = {
    "save": "jitrl keeps its own saves, so the game's SAVE is not used.",
    "restore": "jitrl keeps its own saves, so the game's RESTORE is not used.",
    "script": "jitrl records every session, so the game's SCRIPT is not used.",
    "unscript": "jitrl records every session, so the game's UNSCRIPT is not used.",
    "noscript": "jitrl records every session, so the game's NOSCRIPT is not used.",
    "transcript": "jitrl records every session, so the game's TRANSCRIPT is not used.",
    "restart": "An episode begins anew only when it has ended, so the game's RESTART is not used.",
    "quit": "An episode ends with the game or the step limit; leave with jitrl's own keys.",
    "q": "An episode ends with the game or the step limit; leave with jitrl's own keys.",
    "undo": "What is done is done: within an episode the game's UNDO is not used.",
}
"""These commands, and the answer to each."""
_LETTERS_READ = 6
_OURS_AS_READ = {name[:_LETTERS_READ]: answer for name, answer in _OURS.items()}

_NEVER_WORDS = """
    save restore restor restart restar quit q script scripting unscript unscri noscript transcript transcrip
    verbose verbos brief superbrief superb superbrie super normal long short version versio $ve verify $verify
    again g oops o undo score scores full fullscore notify pronouns nouns places objects help hint hints info
    about credits command comman record unrecord replay random recording trace showverb showobj showheap tree
    goto gonear purloin abstract scope actions routines timers daemons messages changes faults nofaults tw-print
    tw-trace-actions tw-extra-infos #rand #comm #reco #unre $random $record $command win winnag die max_scor
    endofobje menu license licence terms eula copyright responses test showme showheap relations rules quotes
"""
NEVER = frozenset(_NEVER_WORDS.split())
"""First words of commands to the program rather than to the player's character."""


def intercepted(command: str) -> str | None:
    """Return our answer if any part of `command` is one that the game must not see.

    Parsers look at the first six letters of a word, or at nine; OOPS puts a word into the command before.
    """
    for part in re.split(r"[.;,\"]|\bthen\b", command.lower()):
        words = part.split()
        if words and words[0] in ("oops", "o"):
            words = words[1:]
        if words and (answer := _OURS_AS_READ.get(words[0][:_LETTERS_READ])):
            return answer
    return None
