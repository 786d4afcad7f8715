import fleetUtilization from './fleet/fleet-utilization.ts'
import selfDiagnose from './fleet/self-diagnose.ts'
import skillStats from './fleet/skill-stats.ts'
import vramGuard from './fleet/vram-guard.ts'
import complianceCheck from './governance/compliance-check.ts'
import complianceStatus from './governance/compliance-status.ts'
import gateRoutingQuery from './governance/gate-routing-query.ts'
import hitlGate from './governance/hitl-gate.ts'
import policyCheck from './governance/policy-check.ts'
import type { Skill } from './skill.ts'

/** Every skill on the agent card, in its order. */
export const skills: readonly Skill[] = [
  policyCheck,
  hitlGate,
  complianceCheck,
  gateRoutingQuery,
  complianceStatus,
  fleetUtilization,
  vramGuard,
  skillStats,
  selfDiagnose,
]
