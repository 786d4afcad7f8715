"""Errors raised by calls."""

from __future__ import annotations

from typing import Any, Optional


class ShoalError(Exception):
    """An error response, or no response at all. Decide by `code`, never by the message.

    `status` is 0 and `code` is `coordinator_unavailable` when nothing answered.
    `reason` is a finer cause, and `next` a command line or link that leads on, where there is one.
    `retry_after_seconds` is set when the coordinator said how long to wait.
    """

    def __init__(
        self,
        code: str,
        message: str,
        status: int = 0,
        param: Optional[str] = None,
        retry_after_seconds: Optional[float] = None,
        request_id: Optional[str] = None,
        reason: Optional[str] = None,
        next: Optional[str] = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.param = param
        self.retry_after_seconds = retry_after_seconds
        self.request_id = request_id
        self.reason = reason
        self.next = next

    def __str__(self) -> str:
        return f"{self.message} ({self.code})"


class GateNotApproved(ShoalError):
    """Raised when a required approval is pending or blocked."""

    def __init__(self, gate_id: str, status: str, reason: Optional[str], answer: Any) -> None:
        words = f"{gate_id} is {status}" + (f": {reason}" if reason else "")
        super().__init__("gate_not_approved", words)
        self.gate_id = gate_id
        self.gate_status = status
        self.answer = answer
