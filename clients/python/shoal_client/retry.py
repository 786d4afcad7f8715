"""Retries: which errors are retried, and after what delay."""

from __future__ import annotations

import random
import re
import time
from email.utils import parsedate_to_datetime
from typing import Callable, Optional

from .errors import ShoalError

MAX_ATTEMPTS = 3
"""Maximum number of attempts per call (interface specification, section 7)."""

MAX_WAIT_SECONDS = 60.0
"""Longest pause requested by a coordinator that a call waits for."""

_RETRIED = frozenset((408, 429, 503))


def wait_seconds(
    error: ShoalError,
    attempt: int,
    can_repeat: bool,
    jitter: Callable[[], float] = random.random,
) -> Optional[float]:
    """Seconds until the next attempt, or None when there is none.

    `attempt` counts from 1. The pause is 2 ** attempt seconds and a random part of up to one
    second, or what Retry-After says with such a part. A call that may have been carried out is
    repeated only when it can be.
    """
    if attempt >= MAX_ATTEMPTS:
        return None
    refused = error.status in _RETRIED
    unanswered = error.status == 0 or error.status in (502, 504)
    if not refused and not (unanswered and can_repeat):
        return None
    asked = error.retry_after_seconds
    pause = (2.0**attempt if asked is None else asked) + jitter()
    return pause if pause <= MAX_WAIT_SECONDS else None


_UNKEYED = re.compile(r"/(v1/(chat/completions|completions|embeddings|responses)|a2a|mcp)(?![\w-])")
"""Routes that change state and ignore the `Idempotency-Key`."""


def is_repeatable(method: str, path: str) -> bool:
    """True when repeating the request has no further effect."""
    return method == "GET" or _UNKEYED.match(path) is None


def retry_after_seconds(text: Optional[str], now: Callable[[], float] = time.time) -> Optional[float]:
    """Seconds requested by `Retry-After`, or the date that proxies send (RFC 9110, 10.2.3)."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text):
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now())
    except (TypeError, ValueError, OverflowError):
        return None
