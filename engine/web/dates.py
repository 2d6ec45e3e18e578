"""Dates and times: those that a task names, and how a field writes them.

A format is a text such as `yyyy-mm-dd HH:MM:ss` or `DD/MM/YYYY`, as attributes of fields and their placeholders have
it. Letters count in either case; `m` after an hour stands for minutes, any other `m` for the month.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time

MONTHS = {name.casefold(): number for number, name in enumerate(calendar.month_name) if name}
LETTERS = re.compile(r"y+|m+|d+|h+|s+", re.IGNORECASE)
FORMAT = re.compile(r"[yYmMdDhHsST:/. -]{5,20}")
_CLOCK = r"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?(?: ?(?P<half>[ap]m)\b)?"
_MONTH = rf"(?P<month>{'|'.join(MONTHS)})"
_PATTERNS = tuple(
    re.compile(rf"(?<![\w./:-]){pattern}(?![\w/:-]|\.\d)", re.IGNORECASE)
    for pattern in (
        rf"(?P<year>\d{{4}})-(?P<number>\d\d)-(?P<day>\d\d)(?:[ T]{_CLOCK})?",
        rf"(?P<one>\d\d?)[/.](?P<two>\d\d?)[/.](?P<year>\d{{4}})(?: {_CLOCK})?",
        rf"(?P<day>\d\d?)(?:st|nd|rd|th)? {_MONTH},? (?P<year>\d{{4}})(?: {_CLOCK})?",
        rf"{_MONTH} (?P<day>\d\d?)(?:st|nd|rd|th)?,? (?P<year>\d{{4}})(?: {_CLOCK})?",
        rf"{_MONTH} (?P<year>\d{{4}})",
        r"(?<=\bin )(?P<year>[12]\d{3})",
        _CLOCK,
    )
)
"""How dates and times are written; what fits an earlier one is not read again by a later one."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A day, a time of day, or both."""

    day: date | None = None
    time: time | None = None

    def written(self, form: str) -> str:
        """Return it in a format, "" if the format needs what it does not have. A day alone begins at midnight."""
        parts = _parts(form)
        dated = bool({"year", "month", "day"} & set(parts))
        if (self.day if dated else self.time) is None:
            return ""
        at = self.time or time()
        have = {"hour": at.hour, "minute": at.minute, "second": at.second}
        if self.day is not None:
            have |= {"year": self.day.year, "month": self.day.month, "day": self.day.day}
        names = iter(parts)

        def number(run: re.Match[str]) -> str:
            width = len(run.group())
            return f"{have[next(names)]:0{width}d}"[-width if width > 1 else None :]

        return LETTERS.sub(number, form)


def _parts(form: str) -> list[str]:
    """Return what each run of letters of a format stands for."""
    found: list[str] = []
    for run in LETTERS.findall(form):
        letter = run[0].casefold()
        minute = letter == "m" and "hour" in found and "minute" not in found
        names = {"y": "year", "m": "minute" if minute else "month", "d": "day", "h": "hour", "s": "second"}
        found.append(names[letter])
    return found


def is_format(text: str) -> bool:
    """Whether a text is a format of a date, a month or a time of day."""
    parts = _parts(text) if FORMAT.fullmatch(text) else []
    whole = set(parts) >= {"year", "month"} or set(parts) >= {"hour", "minute"}
    return whole and len(set(parts)) == len(parts)


def shape(value: str) -> str:
    """Return the format of a written date such as 2026-12-31 09:30, "" for any other text."""
    found = re.fullmatch(r"\d{4}-\d\d-\d\d(?:([ T])\d\d:\d\d(:\d\d)?)?", value)
    if found is None:
        return ""
    return "yyyy-mm-dd" + (f"{found[1]}HH:MM" if found[1] else "") + (":ss" if found[2] else "")


def fits(text: str, form: str) -> bool:
    """Whether a text has the signs of a format, with numbers between them."""
    signs = (re.escape(each) for each in LETTERS.split(form))
    return re.fullmatch(r"\d{1,4}".join(signs), text) is not None


def moments(text: str) -> tuple[Moment, ...]:
    """Return the dates and times of a text in its order. A month or a year gives its first and its last day.

    What may be a month and a day in either order gives both.
    """
    found: list[tuple[int, int, Moment]] = []
    rest = text
    for pattern in _PATTERNS:
        for match in pattern.finditer(rest):
            found += [(match.start(), number, each) for number, each in enumerate(_read(match))]
        rest = pattern.sub(lambda each: " " * len(each.group()), rest)
    return tuple(dict.fromkeys(each for _, _, each in sorted(found, key=lambda one: one[:2])))


def _read(match: re.Match[str]) -> Iterator[Moment]:
    given = match.groupdict()
    at = None
    if given.get("hour"):
        hour, half = int(given["hour"]), (given.get("half") or "").casefold()
        if half:
            hour = hour % 12 + (12 if half == "pm" else 0)
        try:
            at = time(hour, int(given["minute"]), int(given.get("second") or 0))
        except ValueError:
            return
    if not given.get("year"):
        yield Moment(None, at)
        return
    year = int(given["year"])
    month = MONTHS[given["month"].casefold()] if given.get("month") else int(given.get("number") or 0)
    if given.get("one"):
        one, two = int(given["one"]), int(given["two"])
        days = [(one, two), (two, one)]
    elif given.get("day"):
        days = [(month, int(given["day"]))]
    else:
        last = month or 12
        days = [(month or 1, 1), (last, calendar.monthrange(year, last)[1])]
    for number, day in days:
        try:
            yield Moment(date(year, number, day), at)
        except ValueError:
            continue


def fit_date(text: str, form: str) -> str:
    """Return a text that names one date or time, in a format ("" for none); any other text as it is."""
    found = moments(text.strip()) if form and not fits(text, form) else ()
    if len(found) != 1:
        return text
    return found[0].written(form) or text


def dates_in(intent: str, form: str) -> tuple[str, ...]:
    """Return the dates and times of a task as a field with this format takes them."""
    found = (moment.written(form) for moment in moments(intent))
    return tuple(dict.fromkeys(each for each in found if each))
