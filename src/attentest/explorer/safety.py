"""What keeps the explorer to its user: who may ask, from where, how much, and what a page may do.

On loopback the Host header must name this machine, so that no website can reach it under a name of its own (DNS
rebinding). On any other host a token is asked for as well. What changes nothing may be read; what is posted must come
from a page of the same origin. No page may run, load or embed anything that this server did not send.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from attentest.errors import InputError
from attentest.explorer.plain import as_json

__all__ = [
    "LARGEST_BODY",
    "LONGEST_TEXT",
    "MOST_TOKENS",
    "Guard",
    "TooLarge",
    "check_text",
    "is_loopback",
    "posted",
    "refused",
]

#: Bytes of a posted body; characters of a text; tokens of one.
LARGEST_BODY, LONGEST_TEXT, MOST_TOKENS = 1_000_000, 20_000, 2_000
#: Names of this machine that no other machine has.
LOOPBACK = ("127.0.0.1", "localhost", "::1")
COOKIE = "attentest-token"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "font-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


class TooLarge(InputError):
    """A body or a text beyond the limits."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    if host in LOOPBACK:
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _parts(address: str, part: str) -> str | None:
    """A part of an address; None of what is no address, such as ``[``."""
    try:
        found: str | None = getattr(urlsplit(address), part)
    except ValueError:
        return None
    return found


def refused(status: int, line: str) -> Response:
    """A refusal in one line."""
    return Response(as_json({"error": line}), status, media_type="application/json")


def nothing_is_open(path: str) -> bool:
    """Every path needs the token."""
    return False


@dataclass(frozen=True)
class Guard:
    """Asks every request for Host, Origin and token, and gives every answer its headers."""

    app: ASGIApp
    host: str = "127.0.0.1"
    token: str | None = None
    #: Another name under which people reach this server, by a proxy before it; None: there is none.
    known_as: str | None = None
    #: Which paths need no token, because they ask for a secret of their own or hold none.
    open: Callable[[str], bool] = nothing_is_open

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or refuse."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._objection(scope)
        await (answer or self.app)(scope, receive, guarded)

    def _objection(self, scope: Scope) -> Response | None:
        headers = Headers(scope=scope)
        named = headers.get("host", "")
        if not self._is_ours(named):
            return refused(403, f"Host {named[:80]!r} is not this explorer: open it at the address that it printed.")
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return refused(405, f"{scope['method'][:20]} is not answered here: GET and POST are.")
        if scope["method"] == "POST":
            origin = headers.get("origin")
            if origin is not None and _parts(origin, "netloc") != named:
                return refused(403, f"A page of {origin[:80]!r} may not ask this explorer.")
            if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
                return refused(403, "A page of another site may not ask this explorer.")
            if headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
                return refused(415, "What is posted must be application/json.")
        return self._asked_for_token(scope, headers)

    def _is_ours(self, named: str) -> bool:
        host = _parts(f"//{named}", "hostname") if named else None
        if host is None:
            return False
        if host == self.known_as:
            return True
        if is_loopback(self.host):
            return host in LOOPBACK or host == self.host
        # An address that stands for all of a machine's names has no name of its own; the token guards it.
        return host == self.host or self.host in ("0.0.0.0", "::")

    def _asked_for_token(self, scope: Scope, headers: Headers) -> Response | None:
        if self.token is None or self.open(scope["path"]):
            return None
        request = Request(scope)
        bearer = headers.get("authorization", "").removeprefix("Bearer ")
        if self._is_token(bearer) or self._is_token(request.cookies.get(COOKIE, "")):
            return None
        asked = parse_qsl(scope["query_string"].decode("latin-1"))
        if scope["method"] != "GET" or not self._is_token(dict(asked).get("token", "")):
            return refused(401, "This explorer asks for its token: open the address that it printed, with ?token=….")
        rest = urlencode([(name, value) for name, value in asked if name != "token"])
        path = "/" + scope["path"].lstrip("/\\")
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, 303)
        answer.set_cookie(COOKIE, self.token, httponly=True, samesite="strict")
        return answer

    def _is_token(self, given: str) -> bool:
        return self.token is not None and hmac.compare_digest(given.encode(), self.token.encode())


async def posted(request: Request, most: int = LARGEST_BODY) -> dict[str, Any]:
    """What was posted: a JSON object of bounded size."""
    body = b""
    try:
        async for part in request.stream():
            body += part
            if len(body) > most:
                raise TooLarge(f"More than {most:,} bytes were posted. Give a shorter text.")
    except ClientDisconnect as error:
        raise InputError("What was posted is not whole.") from error
    try:
        found = json.loads(body.decode())
    except (ValueError, RecursionError) as error:
        raise InputError("What was posted is not JSON in UTF-8.") from error
    if not isinstance(found, dict):
        raise InputError('What was posted must be a JSON object, as {"text": "…"}.')
    return found


def check_text(value: Any, name: str = "text") -> str | list[str]:
    """A text, or its tokens, within the limits."""
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise TooLarge(
                f"{name} has {len(value):,} characters; at most {LONGEST_TEXT:,} are read. Give a shorter text."
            )
        _encodable(value, name)
        if not value.strip():
            raise InputError(f"{name} is empty: there is no word to read. Give a text with words in it.")
        return value
    if not isinstance(value, list) or not all(isinstance(token, str) for token in value):
        raise InputError(f"{name} must be a string, or tokens as a list of strings.")
    if len(value) > MOST_TOKENS or sum(map(len, value)) > LONGEST_TEXT:
        raise TooLarge(
            f"{name} has {len(value):,} tokens and {sum(map(len, value)):,} characters; at most {MOST_TOKENS:,} and "
            f"{LONGEST_TEXT:,} are read. Give a shorter text."
        )
    if not value or not all(value):
        raise InputError(f"{name} must hold at least one token, and no empty ones.")
    for token in value:
        _encodable(token, name)
    return value


def _encodable(text: str, name: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise InputError(f"{name} holds a lone surrogate, which is no character. Take it out.") from error
