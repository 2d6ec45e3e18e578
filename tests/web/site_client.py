"""A small HTTP client that fills in forms, keeps cookies and records a HAR, for logins and scripted solutions.

It uses the same pages as a browser, but runs no scripts. Redirects are followed one by one, so that the record
contains each request, as a browser's does.
"""

from __future__ import annotations

import http.cookiejar
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

from engine import waits
from engine.errors import GameError
from engine.web.sites.site import Login

TIMEOUT_S = waits.SITE_ANSWER.seconds
REDIRECTS = 10
ACCEPT = "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8"


@dataclass(slots=True)
class PageForm:
    """A form of a page, with the values it sends if nothing is changed.

    Attributes:
        action: URL to send it to, as on the page.
        method: "GET" or "POST".
        fields: Values by field name, buttons excluded.
        buttons: Values by button name.
        boxes: Values by name of the boxes and choices that are not ticked.
    """

    action: str
    method: str
    fields: dict[str, str] = field(default_factory=dict)
    buttons: dict[str, str] = field(default_factory=dict)
    boxes: dict[str, str] = field(default_factory=dict)


class _Forms(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.forms: list[PageForm] = []
        self._form: PageForm | None = None
        self._select = ""
        self._area = ""
        self._text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value or "" for key, value in attrs}
        if tag == "form":
            self._form = PageForm(given.get("action", ""), given.get("method", "get").upper())
            self.forms.append(self._form)
        form = self._form
        if form is None:
            return
        name = given.get("name", "")
        if tag == "input" or tag == "button":
            self._input(form, tag, name, given)
        elif tag == "select":
            self._select = name
        elif tag == "textarea":
            self._area, self._text = name, ""
        elif tag == "option" and self._select and ("selected" in given or self._select not in form.fields):
            # Without a selected option the first one is sent.
            form.fields[self._select] = given.get("value", "")

    def _input(self, form: PageForm, tag: str, name: str, given: Mapping[str, str]) -> None:
        kind = given.get("type", "text" if tag == "input" else "submit").lower()
        if not name:
            return
        if kind in ("submit", "image"):
            form.buttons[name] = given.get("value", "")
        elif kind in ("checkbox", "radio"):
            ticked = form.fields if "checked" in given else form.boxes
            ticked[name] = given.get("value", "on")
        elif kind not in ("button", "reset", "file"):
            form.fields[name] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._area:
            self._text += data

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._form = None
        elif tag == "select":
            self._select = ""
        elif tag == "textarea" and self._area and self._form is not None:
            # HTML ignores a line break right after the tag.
            self._form.fields[self._area] = self._text.removeprefix("\n")
            self._area = ""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


class SiteClient:
    """A client of one or more sites. It connects to 127.0.0.1 only.

    Attributes:
        url: URL of the current page.
        text: HTML of the current page.
        entries: HAR entries of all requests, in order.
    """

    def __init__(self) -> None:
        self.cookies = http.cookiejar.CookieJar()
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.cookies), _NoRedirect()
        )
        self.url = ""
        self.text = ""
        self.entries: list[dict[str, Any]] = []

    def get(self, url: str) -> str:
        """Open a page and return its HTML; `url` may be relative to the current page.

        Raises:
            GameError: The page cannot be reached, is not on 127.0.0.1, or redirects without end.
        """
        return self._follow("GET", urllib.parse.urljoin(self.url, url), None)

    def post(self, url: str, fields: Mapping[str, str]) -> str:
        """Send a form's fields and return the HTML of the resulting page. Raises as `get` does."""
        return self._follow("POST", urllib.parse.urljoin(self.url, url), fields)

    def forms(self) -> list[PageForm]:
        """Return the forms of the current page."""
        parser = _Forms()
        parser.feed(self.text)
        return parser.forms

    def submit(self, fields: Mapping[str, str], *, form: str = "", button: str = "") -> str:
        """Fill in the first form that has all these fields, and send it; return the HTML of the resulting page.

        Args:
            fields: Values to fill in; the other fields keep theirs.
            form: Part of the form's action, to choose between forms; "=" for a form that has none.
            button: Name of the button to press; by default the form's only button.

        Raises:
            GameError: There is no such form on the page.
        """
        for each in self.forms():
            here = not each.action if form == "=" else form in each.action
            known = each.fields.keys() | each.buttons.keys() | each.boxes.keys()
            if here and known >= fields.keys():
                break
        else:
            raise GameError(f"{self.url} has no form {form!r} with {sorted(fields)}")
        values = {**each.fields, **fields}
        if button:
            values[button] = each.buttons.get(button, "1")
        elif len(each.buttons) == 1:
            values.update(each.buttons)
        action = urllib.parse.urljoin(self.url, each.action or self.url)
        if each.method == "POST":
            return self._follow("POST", action, values)
        return self._follow("GET", action.partition("?")[0] + "?" + urllib.parse.urlencode(values), None)

    def login(self, base: str, login: Login) -> None:
        """Log in to the site with this base URL.

        Raises:
            GameError: The site still shows the login form.
        """
        root = "{0.scheme}://{0.netloc}".format(urllib.parse.urlsplit(base))
        self.get(root + login.path)
        self.submit(login.fields, form=login.form, button=login.button)
        secret = list(login.fields)[-1]
        if any(secret in form.fields for form in self.forms()):
            raise GameError(
                f"{root} did not accept the login of this site; reset the site with: jitrl web reset"
            )

    def _follow(self, method: str, url: str, fields: Mapping[str, str] | None) -> str:
        url = urllib.parse.urldefrag(url).url  # Fragments are not sent.
        for _ in range(REDIRECTS):
            target = self._send(method, url, fields)
            if not target:
                return self.text
            method, url, fields = "GET", urllib.parse.urljoin(url, target), None
        raise GameError(f"{url} redirects without end")

    def _send(self, method: str, url: str, fields: Mapping[str, str] | None) -> str:
        if urllib.parse.urlsplit(url).hostname != "127.0.0.1":
            raise GameError(f"{url} is not on this machine's loopback")
        body = urllib.parse.urlencode(fields) if fields is not None else None
        request = urllib.request.Request(url, body.encode() if body is not None else None, method=method)
        request.add_header("Accept", ACCEPT)
        if self.url:
            request.add_header("Referer", self.url)
        try:
            reply = self._opener.open(request, timeout=TIMEOUT_S)
        except urllib.error.HTTPError as error:
            reply = error
        except OSError as error:
            raise GameError(f"{url} cannot be reached ({error})") from None
        with reply:
            content = reply.read()
            status, target = int(reply.status), reply.headers.get("Location", "") or ""
        self.entries.append(har_entry(method, url, dict(request.header_items()), body, status, target))
        if not 300 <= status < 400:
            self.url, self.text = url, content.decode("utf-8", "replace")
            target = ""
        return target


def har_entry(
    method: str, url: str, headers: Mapping[str, str], body: str | None, status: int, target: str
) -> dict[str, Any]:
    """Return one HAR entry with the parts that scoring reads: URL, method, headers, form fields, status, redirect."""
    kind = headers.get("Content-type") or headers.get("Content-Type") or "application/x-www-form-urlencoded"
    request: dict[str, Any] = {
        "method": method, "url": url, "headers": [{"name": k, "value": v} for k, v in headers.items()],
    }  # fmt: skip
    if body is not None:
        request["postData"] = {"mimeType": kind, "text": body}
    return {
        "request": request,
        "response": {"status": status, "headers": [], "cookies": [], "redirectURL": target},
    }
