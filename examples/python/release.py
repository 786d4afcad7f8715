"""A release that continues only after approval at a gate. The key needs a role."""

import os
import sys

from shoal_client import AuditTrail, Client, ComplianceCheck, GateCheck, GateNotApproved, PolicyCheck

client = Client(os.environ["SHOAL_URL"], os.environ["SHOAL_KEY"])
gate = "gate.minor-release-approve"
plan = {"release": "1.4.0", "channel": "stable"}

print("policy:", PolicyCheck(client).check("release.minor")["decision"])
frameworks = ComplianceCheck(client).check("gdpr")["frameworks"]
print("controls:", len(frameworks[0]["controls"]))

asked = GateCheck(client).request(gate, plan, "release 1.4.0")
try:
    GateCheck(client).require(gate, asked["id"])
except GateNotApproved as waiting:
    print("not released:", waiting.gate_status)
    print("last in the audit:", AuditTrail(client).query(since="1h", limit=1)[0]["action"])
    sys.exit(75)
GateCheck(client).consume(asked["id"], plan)
print("released")
