"""WebArena's checks of 2023 that need no model: strings, URLs, and programs on the page (Zhou et al. 2024, Sec. 3.2).

The score is the product of the three. The browser fetches the texts that a program check needs (`targets`). The
judging itself is a pure function.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

Judge = Callable[[str, str, str], bool]
"""(intent, reference, answer) -> whether answer and reference mean the same; a model call."""

OR = " |OR| "


@dataclass(frozen=True, slots=True)
class FetchedText:
    """A text to fetch when the episode is over.

    Attributes:
        url: Page to open in a new tab; "last" is the page the episode ended on.
        locator: JavaScript expression to evaluate; "" for the whole page.
        prepare: JavaScript statements to run first; those that fail are ignored.
        unsupported: Why this cannot be fetched, "" if it can.
    """

    url: str
    locator: str
    prepare: tuple[str, ...] = ()
    unsupported: str = ""


def targets(raw: Mapping[str, Any], last_url: str) -> tuple[FetchedText, ...]:
    """Return the texts that a task's program checks need, in order."""
    return tuple(_target(item, last_url) for item in raw["eval"].get("program_html") or ())


def _target(item: Mapping[str, Any], last_url: str) -> FetchedText:
    url, locator = str(item["url"]), str(item["locator"]).strip()
    unsupported = ""
    if url.startswith("func:reddit_get_post_url"):
        url = reddit_post(last_url)
    elif url.startswith("func:"):
        unsupported = f"{url[5:].partition('(')[0]} needs the site's own API"
    if locator.startswith("func:"):
        unsupported = f"{locator[5:].partition('(')[0]} needs the site's own API"
    return FetchedText(url, locator, tuple(item.get("prep_actions") or ()), unsupported)


def reddit_post(url: str) -> str:
    """Return the URL of the post that `url` belongs to (scheme, host, /f/FORUM/NUMBER/); `url` if it is none."""
    match = re.match(r"(https?://[^/]+/f/[^/]+/\d+)(?:/|$)", url)
    return match[1] + "/" if match else url


def score_classic(
    raw: Mapping[str, Any],
    answer: str,
    url: str,
    texts: Sequence[str],
    urls: Mapping[str, str],
    judge: Judge | None,
) -> tuple[float | None, str, dict[str, float]]:
    """Judge one episode.

    Args:
        raw: The task in WebArena's format.
        answer: The agent's last message.
        url: URL of the page the episode ended on.
        texts: The texts of `targets`, in order.
        urls: Base URLs by site name.
        judge: Compares texts by meaning. Without it, tasks that need this cannot be judged.

    Returns:
        Score (1.0 or 0.0; None if it cannot be decided), reason, and the score of each check.
    """
    from engine.web.tasks.suites import render

    parts: dict[str, float] = {}
    unknown = ""
    for kind in raw["eval"]["eval_types"]:
        if kind == "string_match":
            score = score_string(raw, answer, judge)
            if score is None:
                unknown = (
                    "the answer must be compared by meaning, which needs a model (setting fuzzy=model)"
                )
            else:
                parts[kind] = score
        elif kind == "url_match":
            # Only placeholders differ between machines. A site without a URL raises MissingError.
            reference = render(raw["eval"]["reference_url"], urls)
            parts[kind] = score_url(reference, url)
        elif kind == "program_html":
            looked = targets(raw, url)
            unknown = next((target.unsupported for target in looked if target.unsupported), unknown)
            if not any(target.unsupported for target in looked):
                parts[kind] = score_program(raw["eval"]["program_html"], texts)
        else:
            unknown = f"the check {kind!r} is unknown"
    failed = [name for name, score in parts.items() if score == 0.0]
    if failed:
        return 0.0, f"{' and '.join(failed)} failed", parts
    return (None, unknown, parts) if unknown else (1.0, "", parts)


def clean(text: str) -> str:
    """Return `text` in lower case, without surrounding white space and one pair of surrounding quotes."""
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return text.lower()


def includes(part: str, whole: str, *, word: bool = False) -> bool:
    """Whether `whole` contains `part`. With `word`, a single character must be a word by itself."""
    part, whole = clean(part), clean(whole)
    if word and len(part) == 1:
        return part in re.findall(r"\w+|[^\w\s]", whole)
    return part in whole


def score_string(raw: Mapping[str, Any], answer: str, judge: Judge | None) -> float | None:
    """Return 1.0 or 0.0; None if only a model could decide and there is none."""
    references: Mapping[str, Any] = raw["eval"]["reference_answers"] or {}
    undecided = False
    for how, wanted in references.items():
        if how == "exact_match":
            right: bool | None = clean(answer) == clean(str(wanted))
        elif how == "must_include":
            right = all(includes(part, answer, word=len(wanted) == 1) for part in wanted)
        else:
            right = _by_meaning(raw, wanted, answer, judge)
        if right is False:
            return 0.0
        undecided |= right is None
    return None if undecided else 1.0


def _by_meaning(raw: Mapping[str, Any], wanted: Any, answer: str, judge: Judge | None) -> bool | None:
    references = [wanted] if isinstance(wanted, str) else list(wanted)
    if references == ["N/A"]:
        # The task cannot be done. The answer "N/A" is enough; another one is compared with the noted reason.
        if clean(answer) == "n/a":
            return True
        references = [str(raw["eval"].get("string_note") or "N/A")]
    if all(clean(answer) == clean(reference) for reference in references):
        return True
    if not answer.strip():
        return False
    if judge is None:
        return None
    return all(judge(str(raw["intent"]), reference, answer) for reference in references)


def score_url(reference: str, url: str) -> float:
    """Return 1.0 if host and path contain a reference's and each query key has an allowed value, else 0.0."""
    wanted = [urlsplit(each.rstrip("/")) for each in reference.split(OR)]
    given = urlsplit(url.rstrip("/"))
    place = given.netloc + given.path
    if not any(each.netloc + each.path in place for each in wanted):
        return 0.0
    query = parse_qs(given.query)
    allowed: dict[str, set[str]] = {}
    for each in wanted:
        for key, values in parse_qs(each.query).items():
            allowed.setdefault(key, set()).update(values)
    return float(all(values & set(query.get(key, ())) for key, values in allowed.items()))


def score_program(items: Sequence[Mapping[str, Any]], texts: Sequence[str]) -> float:
    """Return 1.0 if each target's text contains what it must, else 0.0; also 0.0 if a text is missing."""
    if len(texts) != len(items):
        return 0.0
    for item, text in zip(items, texts, strict=True):
        seen, required = html.unescape(text), item["required_contents"]
        if "exact_match" in required:
            if clean(seen) != clean(str(required["exact_match"])):
                return 0.0
        elif not all(any(includes(one, seen) for one in each.split(OR)) for each in required["must_include"]):
            return 0.0
    return 1.0
