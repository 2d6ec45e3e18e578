"""Addresses of memories on a PostgreSQL server: `postgresql://HOST/DATABASE#SPACE`.

Everything before `#` is libpq's; what is left out there comes from its variables (PGHOST, PGSERVICE, ...), so
`postgresql:` alone is an address, too. A space is what a folder `saves/memory` is elsewhere: a set of scopes that
belong together. Without `#SPACE` it is the space "".
"""

from __future__ import annotations

from urllib.parse import unquote, urlsplit

from engine.errors import UsageError

_SCHEMES = ("postgresql:", "postgres:")
_SPACE = 200
"""Most characters in the name of a space."""


def is_address(text: str) -> bool:
    """Whether this names a memory on a server."""
    return text.startswith(_SCHEMES)


def parsed_address(text: str) -> tuple[str, str]:
    """Return what libpq takes of an address ("" for only its variables), and the name of the space.

    Raises:
        UsageError: It is no address, or it has a password in it. The sentence does not repeat it.
    """
    if not is_address(text):
        raise UsageError(f"{text!r} is no address of a shared memory; one is postgresql://HOST/DATABASE")
    address, _, space = text.partition("#")
    try:
        parts = urlsplit(address)
        keys = [unquote(pair.partition("=")[0]) for pair in parts.query.split("&")]
    except ValueError:
        raise UsageError("the address of the shared memory cannot be read; one is postgresql://HOST/DATABASE") from None
    if ":" in parts.netloc.rpartition("@")[0] or {"password", "sslpassword", "passwd"} & set(keys):
        raise UsageError(
            "an address should hold no password, because others see it in lists of processes: put it into the file "
            "that PGPASSFILE names (~/.pgpass), into PGPASSWORD, or into a service file (PGSERVICE)"
        )
    if "://" not in address and address not in _SCHEMES:
        raise UsageError("an address of a shared memory is postgresql://HOST/DATABASE, or postgresql: alone")
    space = unquote(space)
    if len(space) > _SPACE or (space and not space.isprintable()):
        raise UsageError(f"the space of a shared memory is a printable text of at most {_SPACE} characters")
    return ("" if address in _SCHEMES else address), space


def database(text: str) -> str:
    """Return an address without its space; "" if only variables of the user say where it leads, or if it is none."""
    return parsed_address(text)[0] if is_address(text) else ""


def in_space(text: str, space: str) -> str:
    """Return an address with a further part in the name of its space."""
    address, _, before = text.partition("#")
    return f"{address}#{before}/{space}" if before else f"{address}#{space}"
