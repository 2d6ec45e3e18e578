"""Amounts as people write them: money, tokens, durations."""

from __future__ import annotations


def dollars(cost: float | None) -> str:
    """Return US dollars with cents, with four decimals for less than half a cent; "cost unknown" for None."""
    if cost is None:
        return "cost unknown"
    return f"${cost:,.2f}" if cost >= 0.005 or not cost else f"${cost:.4f}"


def amount(count: int) -> str:
    """Return a number of tokens with thousands separated; large ones in thousands (k) or millions (M)."""
    if count < 100_000:
        return f"{count:,}"
    return f"{count / 1000:,.0f}k" if count < 10_000_000 else f"{count / 1e6:,.1f}M"


def duration(seconds: float) -> str:
    """Return a duration in its two largest units, for instance "2 h 05 min" or "40 s"."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 10:
        return f"{minutes} min {rest:02} s"
    if minutes < 60:
        return f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    if hours < 48:
        return f"{hours} h {minutes:02} min"
    days, hours = divmod(hours, 24)
    return f"{days:,} d {hours:02} h"
