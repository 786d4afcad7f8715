"""HTTP requests with the standard library. Redirects are refused, as they would leak the key."""

from __future__ import annotations

import http.client
import json
import re
import ssl
from contextlib import contextmanager
from typing import Any, Dict, Iterator, Mapping, Optional
from urllib.parse import quote, urlencode, urlsplit

from .errors import ShoalError
from .retry import retry_after_seconds

_WORD = re.compile(r"[\x21-\x7e]+")
"""Characters that headers and paths carry unchanged."""

MAX_ANSWER_BYTES = 64 * 1024 * 1024


class Transport:
    """Requests to one coordinator. A connection serves one request, so threads may share it."""

    def __init__(
        self,
        base_url: str,
        headers: Mapping[str, str],
        timeout_seconds: float,
        context: Optional[ssl.SSLContext],
    ) -> None:
        parts = urlsplit(base_url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError("base_url must begin with http:// or https://")
        if parts.username is not None:
            raise ValueError("base_url must have no user name")
        self._parts = parts
        self._headers = dict(headers)
        self._timeout = timeout_seconds
        self._context = context

    @contextmanager
    def open(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, str]] = None,
    ) -> Iterator[http.client.HTTPResponse]:
        """Return the response of a successful request; anything else raises `ShoalError`."""
        target = self._target(path, query)
        connection = self._connection()
        try:
            data = None if body is None else json.dumps(body).encode()
            sent = {**self._headers, **(headers or {})}
            if data is not None:
                sent["content-type"] = "application/json"
            try:
                connection.request(method, target, body=data, headers=sent)
                response = connection.getresponse()
            except (OSError, http.client.HTTPException) as error:
                raise unreachable(self._parts.netloc, error) from error
            if not 200 <= response.status < 300:
                raise _refusal(response)
            yield response
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        context = self._context or ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=self._timeout, context=context)

    def _target(self, path: str, query: Optional[Mapping[str, Any]]) -> str:
        if not path.startswith("/") or not _WORD.fullmatch(path):
            raise ValueError(f"{path!r} is no path of the API")
        given = {name: _word(value) for name, value in (query or {}).items() if value is not None}
        return self._parts.path.rstrip("/") + path + (f"?{urlencode(given)}" if given else "")


def unreachable(host: str, error: BaseException) -> ShoalError:
    return ShoalError("coordinator_unavailable", f"no coordinator answers at {host}: {error}")


def cut_off(error: Optional[BaseException] = None) -> ShoalError:
    words = "the answer was cut off" + (f": {error}" if error else "")
    return ShoalError("coordinator_unavailable", words)


def header_word(name: str, value: str) -> str:
    """Return a value that a header can carry. The error does not show it, as it may be a key."""
    if not _WORD.fullmatch(value):
        raise ValueError(f"{name} must be visible ASCII, without blanks and line ends")
    return value


def path_part(text: str) -> str:
    """Return an id encoded as a path segment. `.` and `..` would lead to another route."""
    if text in ("", ".", ".."):
        raise ValueError(f"{text!r} is no id")
    return quote(text, safe="")


def _word(value: Any) -> str:
    return ("true" if value else "false") if isinstance(value, bool) else str(value)


def read_json(response: http.client.HTTPResponse) -> Any:
    """Parse the body as JSON; raises `ShoalError` for one that is invalid, truncated or too long."""
    try:
        text = response.read(MAX_ANSWER_BYTES + 1)
    except (OSError, http.client.HTTPException) as error:
        raise cut_off(error) from error
    # A limited read does not report a connection that ends before the announced length.
    if response.length and len(text) <= MAX_ANSWER_BYTES:
        raise cut_off()
    if len(text) > MAX_ANSWER_BYTES:
        raise ShoalError("internal", "the answer is too large", response.status)
    return parse_json(text, response.status) if text else None


def parse_json(text: bytes, status: int) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ShoalError("internal", "the answer is not JSON", status) from error


def event_data(response: http.client.HTTPResponse) -> Iterator[bytes]:
    """Yield the data of each server-sent event (HTML standard, section 9.2.6), one line each."""
    try:
        for line in response:
            if line.startswith(b"data:"):
                yield line[5:].strip()
    except (OSError, http.client.HTTPException) as error:
        raise cut_off(error) from error


def _refusal(response: http.client.HTTPResponse) -> ShoalError:
    try:
        error: Dict[str, Any] = read_json(response)["error"]
        code, message = str(error["code"]), str(error["message"])
    except (ShoalError, KeyError, TypeError):
        error = {}
        code, message = "internal", f"the coordinator answered {response.status}"
    return ShoalError(
        code,
        message,
        response.status,
        text_of(error, "param"),
        retry_after_seconds(response.getheader("retry-after")),
        response.getheader("x-request-id"),
        text_of(error, "reason"),
        text_of(error, "next"),
    )


def text_of(error: Mapping[str, Any], name: str) -> Optional[str]:
    value = error.get(name)
    return value if isinstance(value, str) else None
