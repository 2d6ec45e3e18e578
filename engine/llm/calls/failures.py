"""Classifies errors of models behind an API, and words them for people.

litellm's exceptions are recognised by name and status, so litellm is not imported. Some different cases have the same
class there (an exhausted quota is a rate limit, a refused connection a server error); then the text decides.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from engine import extras
from engine.errors import JitrlError, MissingError, ModelError, TooLong
from engine.llm.calls.network import OLLAMA, has_socks, is_loopback, ollama_address, proxy_for
from engine.redaction import hide, secrets_of, without_credentials

CONTEXT, LOGPROBS, REFUSED, CONTENT = "context", "logprobs", "refused", "content"
"""Kinds that the caller can handle: shorten the prompt, read in another way, send other parameters, ask again."""

BROKEN = "server"
"""Kind of an error inside the server. One prompt may cause it, so only the second one in a row ends a session."""

RATE, BUSY = "rate", "busy"
"""Kinds that pass with time: the server limits calls (429), or is overloaded (503)."""

LONGEST_WISH = 300.0
"""Longest pause that is made because a server asks for it, in seconds."""
_MOST_SENSIBLE = 86_400.0
"""A server that asks for a longer pause than a day, or for a negative one, means something else, and is not heeded."""

_SECRET_TEXT = re.compile(
    r"\b(sk-[A-Za-z0-9_-]{12,}|AIza[A-Za-z0-9_-]{20,}|gsk_[A-Za-z0-9]{20,}|Bearer\s+[A-Za-z0-9._-]{12,})"
)
HIDDEN = "[hidden]"
_SPENT = ("insufficient_quota", "exceeded your current quota", "billing", "credit balance", "payment required",
          "insufficient balance")  # fmt: skip
_UNREACHED = (
    "connection refused", "cannot connect", "connect error", "connecterror", "name or service not known",
    "connection error", "nodename nor servname", "disconnected", "connection reset", "peer closed",
    "temporary failure in name resolution", "connect call failed", "bad status line", "socks", "illegal header",
    "connection attempts failed",
)  # fmt: skip
"""Texts of errors in which no answer of the server arrived."""
_REFUSED = ("connection refused", "cannot connect", "connect call failed", "connection attempts failed")
"""Those of them that say that nobody listens there, by the library that says it."""
_SOON = re.compile(r"retry(?:delay\W+| in )(\d{1,6}(?:\.\d{1,9})?)s\b")


@dataclass(frozen=True, slots=True)
class Failure:
    """One failed call.

    Attributes:
        kind: "key", "model", "quota", "server", "network", "timeout", "malformed" or one of the kinds above.
        message: A sentence for people that says what to do.
        retry: Whether the same call may succeed later.
        fatal: Whether further calls are useless until a person acts.
        wait: Seconds that the server asked to wait, None if it did not.
        attempts: Most attempts for such a call; 0 for the usual number.
    """

    kind: str
    message: str
    retry: bool = False
    fatal: bool = False
    wait: float | None = None
    attempts: int = 0

    def error(self) -> JitrlError:
        """Return the failure as an exception for people."""
        if self.kind in ("key", "network"):
            return MissingError(self.message)
        if self.kind == CONTEXT:
            return TooLong(self.message)
        return ModelError(self.message, fatal=self.fatal)


class UnreadableAnswer(Exception):
    """A server's answer was not read to its end. The text says what the server did."""


def redact(text: str, environment: Mapping[str, str] | None = None) -> str:
    """Return `text` without keys and tokens: those in the environment, strings that look like some, and credentials
    in addresses.
    """
    text = hide(text, secrets_of(os.environ if environment is None else environment), HIDDEN)
    return without_credentials(_SECRET_TEXT.sub(HIDDEN, text))


def explain(error: BaseException, model: str, base: str | None = None) -> Failure:
    """Classify an error.

    Args:
        error: The exception that a call raised.
        model: Name of the model.
        base: Address of the server, None for the provider's own.
    """
    name = type(error).__name__
    text = redact(f"{name}: {error}")
    low = text.lower()
    status = getattr(error, "status_code", None)
    where = without_credentials(base or "") or model.partition("/")[0]
    if isinstance(error, TooLong):
        return Failure(CONTEXT, str(error))
    if isinstance(error, ModelError):
        return Failure("model", str(error), fatal=error.fatal)
    if isinstance(error, MissingError):
        return Failure("network", str(error), fatal=True)
    if isinstance(error, UnreadableAnswer):
        return Failure(CONTENT, f"{model} {error}", retry=True, attempts=2)
    if isinstance(error, TimeoutError) or name in ("Timeout", "APITimeoutError"):
        return Failure("timeout", f"{model} did not answer in time; try again, or raise deadline_s",
                       retry=True, fatal=True)  # fmt: skip
    return (
        _refused_for_now(error, name, status, low, model, where)
        or _unsent(status, low, model, base, where)
        or _by_text(low, model, where)
        or _by_status(error, name, status, model, where, text)
        or Failure(BROKEN, f"{model} failed: {_short(text)}", retry=True, fatal=True)
    )


def _refused_for_now(
    error: BaseException, name: str, status: int | None, low: str, model: str, where: str
) -> Failure | None:
    if status in (503, 529) or name == "ServiceUnavailableError" or "overloaded_error" in low:
        return Failure(BUSY, f"{where} is overloaded ({503 if status is None else status}); wait a minute, then go on",
                       retry=True, fatal=True, wait=_retry_after(error))  # fmt: skip
    if status == 429 or name == "RateLimitError":
        # Google also reports a limit of calls per minute as an exceeded quota, but says when to retry.
        soon = _SOON.search(low) if "perday" not in low else None
        if soon is None and _spent(low):
            return None
        wait = _retry_after(error)
        if wait is None and soon is not None:
            wait = _sensible(float(soon[1]))
        return Failure(RATE, f"{model} takes no more calls for now (rate limit); wait a minute, then go on",
                       retry=True, fatal=True, wait=wait)  # fmt: skip
    return None


def _unsent(status: int | None, low: str, model: str, base: str | None, where: str) -> Failure | None:
    """Say why no request arrived at the server, if something of this machine is the reason."""
    if not any(text in low for text in _UNREACHED) and (status is None or status < 500):
        return None
    key = key_name(model)
    if key.endswith(("_KEY", "_TOKEN")) and any(not "!" <= one <= "~" for one in os.environ.get(key, "")):
        return Failure("key", f"{key} has a line break, a blank or a letter with an accent in it, so that it cannot be "
                       "sent; set it again without", fatal=True)  # fmt: skip
    if not any(text in low for text in _UNREACHED):
        return None
    refused = any(text in low for text in _REFUSED)
    if refused and model.startswith(OLLAMA) and is_loopback(server := base or ollama_address(os.environ)):
        return Failure("network", f"Ollama does not run at {without_credentials(server)}; start it with: ollama serve",
                       retry=True, fatal=True)  # fmt: skip
    variable, proxy = proxy_for(base or "https://")
    if not proxy:
        return None
    if proxy.startswith("socks") and not has_socks():
        return Failure("network", f"{variable} names a SOCKS proxy, which needs a package that is missing; install it "
                       f"with: {extras.command('socks')}, or unset {variable}", fatal=True)  # fmt: skip
    return Failure("network", f"cannot reach {where} through the proxy {without_credentials(proxy)}, or it cut the "
                   f"connection; check the proxy, or unset {variable}", retry=True, fatal=True)  # fmt: skip


def _spent(low: str) -> bool:
    return any(text in low for text in _SPENT)


def _by_text(low: str, model: str, where: str) -> Failure | None:
    if "contextwindowexceeded" in low or "context length" in low or "exceed_context_size" in low:
        return Failure(CONTEXT, f"the prompt is too long for {model}")
    if _spent(low):
        return Failure("quota", f"the account for {model} has no quota left; add credit, or choose another "
                       "model with --model", fatal=True)  # fmt: skip
    if "api_key client option must be set" in low or "missing credentials" in low or "no api key" in low \
            or re.search(r"missing \w+ api key", low) \
            or "api key not found" in low or "default credentials" in low:  # fmt: skip
        return Failure("key", f"{model} needs an API key; set {key_name(model)} and start again", fatal=True)
    if "llm provider not provided" in low:
        return Failure("model", f"litellm knows no model {model!r}; write it as provider/model, such as "
                       "gemini/gemini-2.5-flash", fatal=True)  # fmt: skip
    if any(text in low for text in _UNREACHED):
        return Failure("network", f"cannot reach {where}, or it cut the connection; check the network and the "
                       "address, then try again", retry=True, fatal=True)  # fmt: skip
    if "output limit was reached" in low:
        return Failure(CONTENT, f"{model} thought until its answer reached its limit; raise it with "
                       "--set reply_tokens=N, or let it think less")  # fmt: skip
    if "content_filter" in low or "contentpolicyviolation" in low or "content management policy" in low:
        return Failure(CONTENT, f"{model} refused the prompt (content filter)")
    return None


def _by_status(
    error: BaseException, name: str, status: int | None, model: str, where: str, text: str
) -> Failure | None:
    low = text.lower()
    if "invalid response object" in low and re.search(r"['\"]content['\"]: \[", low):
        return Failure(CONTENT, f"{model} sent its answer as a list of parts, which is read only from providers that "
                       "litellm knows; name the model by its provider, such as mistral/NAME")  # fmt: skip
    if name == "IndexError":
        return Failure(CONTENT, f"{model} sent an empty answer", retry=True)
    if status in (401, 403) or name in ("AuthenticationError", "PermissionDeniedError"):
        return Failure("key", f"{where} did not accept the API key; check {key_name(model)}", fatal=True)
    if status == 404 or name == "NotFoundError":
        if model.startswith(OLLAMA):
            _, _, tag = model.partition("/")
            return Failure("model", f"Ollama has no model {tag!r}; get it with: ollama pull {tag}", fatal=True)
        return Failure("model", f"{where} has no model {model!r}; check the name given with --model",
                       fatal=True)  # fmt: skip
    if status == 400 or name in ("BadRequestError", "UnsupportedParamsError", "UnprocessableEntityError"):
        return Failure(REFUSED, f"{where} refused the request: {_short(text)}", fatal=True)
    if (
        "json" in low
        or "expecting value" in low
        or "expecting property name" in low
        or "unable to parse" in low
        or "html" in low
    ):
        return Failure("malformed", f"{where} did not answer as an OpenAI-compatible server; check the address",
                       retry=True, fatal=True)  # fmt: skip
    return None


def why_unusable(model: str, answer: Mapping[str, Any]) -> str:
    """Return why an answer cannot be used, and what to do; "" if it can, or if asking again may help.

    Args:
        model: Name of the model.
        answer: Its `text`, `finish` (why it ended), `refusal`, `thought` (whether thoughts came besides), `most` (its
            largest number of tokens) and `squeezed` (whether the context left no more).
    """
    text, finish = answer["text"], answer["finish"]
    if answer["refusal"]:
        return f"{model} refused to answer ({_short(answer['refusal'])}); choose another model"
    if finish == "content_filter":
        return f"{model} refused to answer: the content filter of its provider stopped it; choose another model"
    thinking = "<think>" in text and "</think>" not in text
    if finish == "length" and (thinking or not text.strip()):
        most = answer.get("most") or "few"
        more = "give its server a larger context" if answer.get("squeezed") else "raise it with --set reply_tokens=N"
        return f"{model} thought until its answer reached its limit of {most} tokens; {more}, or let it think less"
    if answer.get("thought") and not text.strip():
        return (f"{model} put its answer into reasoning_content and left content empty; switch its thinking off, or "
                "start its server without a reasoning parser")  # fmt: skip
    return ""


def key_name(model: str) -> str:
    """Return the environment variable from which litellm reads the API key of `model`."""
    provider = model.partition("/")[0] if "/" in model else "openai"
    return {"vertex_ai": "GOOGLE_APPLICATION_CREDENTIALS", "huggingface": "HF_TOKEN"}.get(
        provider, f"{provider.upper().replace('-', '_')}_API_KEY"
    )


def _retry_after(error: BaseException) -> float | None:
    """Return the seconds that a server asked to wait; None if it did not, or if that makes no sense.

    A date that has passed means now. It is compared with the server's own date, because our clock may be wrong.
    """
    for headers in (
        getattr(error, "litellm_response_headers", None),
        getattr(getattr(error, "response", None), "headers", None),
    ):
        text = _header(headers, "retry-after")
        try:
            seconds = float(text)
        except ValueError:
            try:
                seconds = max(0.0, parsedate_to_datetime(text).timestamp() - _server_time(headers))
            except (ValueError, TypeError, OverflowError):
                continue
        return _sensible(seconds)
    return None


def _server_time(headers: Any) -> float:
    """Return the Unix time of an answer by the server's clock, by ours if it does not say."""
    try:
        return parsedate_to_datetime(_header(headers, "date")).timestamp()
    except (ValueError, TypeError, OverflowError):
        return time.time()


def _sensible(seconds: float) -> float | None:
    """Return a pause that a server asked for, shortened to `LONGEST_WISH`; None for one that makes no sense."""
    return min(LONGEST_WISH, seconds) if 0.0 <= seconds <= _MOST_SENSIBLE else None


def _header(headers: Any, name: str) -> str:
    try:
        return str(headers.get(name) or "")
    except AttributeError:
        return ""


def _short(text: str) -> str:
    # litellm includes tracebacks from this process in the text.
    line = " ".join(text.partition("Traceback (most recent call last)")[0].split())
    return line if len(line) <= 200 else line[:199] + "…"
