"""Which way calls take: proxies of the environment, servers on this machine, and Ollama's address."""

from __future__ import annotations

import ipaddress
import os
import urllib.request
from collections.abc import Mapping
from importlib.util import find_spec
from urllib.parse import urlsplit

OLLAMA = ("ollama/", "ollama_chat/")
"""How the names of models begin that Ollama runs."""
_LOOPBACK = ("localhost", "127.0.0.1", "::1")


def ollama_address(environment: Mapping[str, str]) -> str:
    """Return the address at which litellm looks for Ollama."""
    return environment.get("OLLAMA_API_BASE") or "http://localhost:11434"


def is_loopback(base: str) -> bool:
    """Return whether an address is one of this machine."""
    host = _host(base)
    try:
        return host in _LOOPBACK or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def bypass(base: str = "") -> None:
    """Let no call to a server on this machine go through a proxy of the environment.

    A proxy elsewhere cannot reach this machine's servers. It is said with NO_PROXY, which all libraries read.

    Args:
        base: The server's address; "" for the usual ones of this machine.
    """
    hosts = [*_LOOPBACK, *([_host(base)] if is_loopback(base) else [])]
    for name in ("no_proxy", "NO_PROXY"):
        before = os.environ.get(name, "")
        known = [part.strip() for part in before.split(",")]
        if before.strip() != "*" and (new := [host for host in hosts if host not in known]):
            os.environ[name] = ",".join(filter(None, [before, *new]))


def proxy_for(base: str) -> tuple[str, str]:
    """Return the variable and the address of the proxy for a server; "" and "" if there is none."""
    if is_loopback(base) or (_host(base) and urllib.request.proxy_bypass(_host(base))):
        return "", ""
    for scheme in (urlsplit(base).scheme or "https", "all"):
        for name in (f"{scheme}_proxy", f"{scheme.upper()}_PROXY"):
            if os.environ.get(name):
                return name, os.environ[name]
    return "", ""


def wants_socks() -> bool:
    """Return whether a proxy of the environment is a SOCKS proxy."""
    return any(proxy_for(f"{scheme}://")[1].startswith("socks") for scheme in ("http", "https"))


def has_socks() -> bool:
    """Return whether the package is there with which httpx uses a SOCKS proxy."""
    return find_spec("socksio") is not None


def _host(base: str) -> str:
    try:
        return urlsplit(base).hostname or ""
    except ValueError:
        return ""
