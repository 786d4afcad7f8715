"""Gates, policy, audit and compliance."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Dict, Iterator, List, Mapping, Optional

from .client import Client
from .errors import GateNotApproved
from .transport import path_part


@dataclass(frozen=True)
class GateStatus:
    """State of a gate for one request: `approved`, `pending` or `blocked`.

    `request_id` is None when nothing was asked yet. `expires_at` is RFC 3339, UTC.
    """

    gate_id: str
    status: str
    request_id: Optional[str]
    state: Optional[str]
    reason: Optional[str]
    plan_hash: Optional[str]
    approvals_missing: Optional[int]
    expires_at: Optional[str]

    @property
    def approved(self) -> bool:
        return self.status == "approved"


class GateCheck:
    """Requests approvals and reads their state. This class cannot approve anything."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def check(self, gate_id: str, request_id: Optional[str] = None) -> GateStatus:
        """Read the state of this request, or of your newest one at the gate."""
        path = f"/v1/gates/{path_part(gate_id)}"
        answer = self._client.call("GET", path, {"request_id": request_id})
        return GateStatus(**{name: answer.get(name) for name in GateStatus.__dataclass_fields__})

    def require(self, gate_id: str, request_id: Optional[str] = None) -> GateStatus:
        """Read the state and raise `GateNotApproved` unless the request is approved."""
        found = self.check(gate_id, request_id)
        if not found.approved:
            raise GateNotApproved(gate_id, found.status, found.reason, found)
        return found

    def request(self, gate_id: str, plan: Any, summary: str) -> Dict[str, Any]:
        """Request approval of exactly this plan."""
        path = f"/v1/gates/{path_part(gate_id)}/requests"
        answer: Dict[str, Any] = self._client.call(
            "POST", path, body={"plan": plan, "summary": summary}
        )
        return answer

    def consume(self, request_id: str, plan: Any) -> Dict[str, Any]:
        """Consume an approval, once, just before this plan is carried out."""
        path = f"/v1/gates/requests/{path_part(request_id)}/consume"
        answer: Dict[str, Any] = self._client.call("POST", path, body={"plan": plan})
        return answer


class PolicyCheck:
    """The human-approval boundary and the governance checks."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def check(
        self,
        action_type: str,
        actor_id: Optional[str] = None,
        context: Optional[str] = None,
    ) -> Dict[str, Any]:
        """Ask whether an action is allowed: `decision` is allowed, needs_gate (with `gate_id`) or denied."""
        asked = {"action_type": action_type, "actor_id": actor_id, "context": context}
        given = {name: value for name, value in asked.items() if value is not None}
        answer: Dict[str, Any] = self._client.skill("policy-check", given)
        return answer

    def run(self) -> Dict[str, Any]:
        """Run the governance checks: `status` passed or failed, and each check."""
        answer: Dict[str, Any] = self._client.call("GET", "/v1/policy/checks")
        return answer


class AuditTrail:
    """The coordinator's audit chain: every action with its actor."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def query(self, since: Optional[str] = None, limit: int = 100, **filters: Any) -> List[Dict[str, Any]]:
        """Return the newest rows. `since` is a time or a span such as `24h`; `action`, `actor` filter."""
        rows: List[Dict[str, Any]] = self._page(since, limit, None, filters)["rows"]
        return rows

    def rows(self, since: Optional[str] = None, **filters: Any) -> Iterator[Dict[str, Any]]:
        """Yield all rows, newest first, page by page."""
        before: Optional[int] = None
        while True:
            page = self._page(since, 1000, before, filters)
            yield from page["rows"]
            before = page["next"]
            if before is None:
                return

    def verify(self) -> Dict[str, Any]:
        """Verify that the chain is complete and unchanged."""
        answer: Dict[str, Any] = self._client.call("GET", "/v1/audit/verify")
        return answer

    def _page(
        self, since: Optional[str], limit: int, before: Optional[int], filters: Mapping[str, Any]
    ) -> Dict[str, Any]:
        query = {**filters, "since": since, "limit": limit, "before": before}
        answer: Dict[str, Any] = self._client.call("GET", "/v1/audit", query)
        return answer


class ComplianceCheck:
    """Evidence for each control of a framework. A report is not a verdict."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def check(self, framework: str = "all") -> Dict[str, Any]:
        """Select the framework: `iso42001`, `eu-ai-act`, `gdpr` or `all`."""
        answer: Dict[str, Any] = self._client.skill("compliance-check", {"framework": framework})
        return answer

    def report(self, framework: str = "all") -> Dict[str, Any]:
        """Return the whole report as data."""
        path = "/portal/api/compliance/report"
        answer: Dict[str, Any] = self._client.call("GET", path, {"framework": framework})
        return answer
