"""Client of a shoal coordinator, with the standard library alone."""

from .client import Client
from .errors import GateNotApproved, ShoalError
from .governance import AuditTrail, ComplianceCheck, GateCheck, GateStatus, PolicyCheck

__all__ = [
    "AuditTrail",
    "Client",
    "ComplianceCheck",
    "GateCheck",
    "GateNotApproved",
    "GateStatus",
    "PolicyCheck",
    "ShoalError",
]
__version__ = "0.1.0"
