"""Calls of a coordinator: skills, operations and chat."""

from __future__ import annotations

import ssl
import time
import uuid
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional

from .errors import ShoalError
from .retry import is_repeatable, wait_seconds
from .transport import Transport, event_data, header_word, parse_json, path_part, read_json

Messages = List[Dict[str, Any]]


class Client:
    """One coordinator and one key.

    `tenant` selects one of the tenants the key may act for. `timeout_seconds` bounds each wait for
    bytes. `ssl_context` trusts a coordinator with a certificate authority of its own. A call that
    is refused for a while is made again, at most three times in all.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        tenant: Optional[str] = None,
        timeout_seconds: float = 60.0,
        ssl_context: Optional[ssl.SSLContext] = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        key = header_word("api_key", api_key)
        headers = {"authorization": f"Bearer {key}", "accept": "application/json"}
        if tenant is not None:
            headers["x-svc-tenant"] = header_word("tenant", tenant)
        self._transport = Transport(base_url, headers, timeout_seconds, ssl_context)
        self._sleep = sleep

    def call(
        self,
        method: str,
        path: str,
        query: Optional[Mapping[str, Any]] = None,
        body: Optional[Mapping[str, Any]] = None,
    ) -> Any:
        """Call any route of the API and return its answer as JSON. Raises `ShoalError`.

        Changes carry an `Idempotency-Key`, so that one that is made again is carried out once.
        """
        headers = {} if method == "GET" else {"idempotency-key": str(uuid.uuid4())}

        def once() -> Any:
            with self._transport.open(method, path, query, body, headers) as response:
                return read_json(response)

        return self._again(once, is_repeatable(method, path))

    def skill(self, skill_id: str, input: Optional[Mapping[str, Any]] = None) -> Any:
        """Call a skill and return its output; `status: pending` means that it waits for an approval."""
        return self.call("POST", f"/v1/skills/{path_part(skill_id)}", body=dict(input or {}))

    def models(self) -> List[Dict[str, Any]]:
        """List the models that the key's tier may use."""
        answer: Dict[str, Any] = self.call("GET", "/v1/models")
        models: List[Dict[str, Any]] = answer["data"]
        return models

    def chat(self, model: str, messages: Messages, **options: Any) -> Dict[str, Any]:
        """Return a complete chat completion; `options` are the other fields of the request."""
        body = {**options, "model": model, "messages": messages, "stream": False}
        answer: Dict[str, Any] = self._again(lambda: self._completion(body), can_repeat=False)
        return answer

    def stream_chat(self, model: str, messages: Messages, **options: Any) -> Iterator[Dict[str, Any]]:
        """Yield the chunks of a chat completion as they arrive; leaving the loop cancels it.

        Raises `ShoalError` when the answer fails or ends before it is whole. Only what was refused
        before the first chunk is asked for again.
        """
        body = {**options, "model": model, "messages": messages, "stream": True}
        attempt = 0
        while True:
            attempt += 1
            begun = False
            try:
                for chunk in self._chunks(body):
                    begun = True
                    yield chunk
                return
            except ShoalError as error:
                pause = None if begun else wait_seconds(error, attempt, can_repeat=False)
                if pause is None:
                    raise
                self._sleep(pause)

    def _chunks(self, body: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
        with self._transport.open("POST", "/v1/chat/completions", body=body) as response:
            for data in event_data(response):
                if data == b"[DONE]":
                    return
                chunk: Dict[str, Any] = parse_json(data, response.status)
                if "error" in chunk:
                    failed = chunk["error"]
                    raise ShoalError(str(failed["code"]), str(failed["message"]), 200)
                yield chunk
        raise ShoalError("cell_unavailable", "the answer ended too early", 200)

    def _completion(self, body: Mapping[str, Any]) -> Any:
        with self._transport.open("POST", "/v1/chat/completions", body=body) as response:
            return read_json(response)

    def _again(self, once: Callable[[], Any], can_repeat: bool) -> Any:
        attempt = 0
        while True:
            attempt += 1
            try:
                return once()
            except ShoalError as error:
                pause = wait_seconds(error, attempt, can_repeat)
                if pause is None:
                    raise
                self._sleep(pause)
