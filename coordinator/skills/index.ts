import fleetUtilization from './fleet/fleet-utilization.ts'
import selfDiagnose from './fleet/self-diagnose.ts'
import skillStats from './fleet/skill-stats.ts'
import vramGuard from './fleet/vram-guard.ts'
import type { Skill } from './skill.ts'

/** Every skill on the agent card, in its order. */
export const skills: readonly Skill[] = [fleetUtilization, vramGuard, skillStats, selfDiagnose]
