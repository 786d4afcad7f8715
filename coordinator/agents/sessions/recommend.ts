import { type AgentRole, hasSkillAccess } from './roles.ts'

/** Facts that determine a recommendation; equal facts give the same answer. */
export interface Situation {
  roles: readonly AgentRole[]
  /** Skills that the key may call. */
  callable: ReadonlySet<string>
  /** Skill that was executed last in the caller's session. */
  lastSkill: string | undefined
  /** Alerts raised now; empty when the key may not see them. */
  alerts: readonly { rule: string; level: 'warn' | 'critical'; message: string }[]
  /** Requests that the caller could decide. */
  decidable: number
  /** Models of the catalogue that no cell serves. */
  modelsMissing: readonly string[]
}

interface Recommendation {
  skill: string
  because: 'alert' | 'gate' | 'models' | 'role'
  reason: string
}

const MOST = 5

/**
 * Recommends the next calls: first those that examine alerts, then pending decisions, then the
 * role's usual skills after the one executed last.
 */
export const recommend = (situation: Situation): Recommendation[] => {
  const { roles, callable } = situation
  const canCall = (skill: string): boolean => callable.has(skill) && hasSkillAccess(roles, skill)
  const seen = new Set<string>()
  return [
    ...recommendForAlerts(situation),
    ...recommendForGates(situation),
    ...recommendForModels(situation),
    ...recommendForRoles(situation),
  ]
    .filter(({ skill }) => canCall(skill) && !seen.has(skill) && seen.add(skill))
    .slice(0, MOST)
}

/** Skills that examine an alert; the first one that may be called is used. */
const skillsForRule = (rule: string): string[] =>
  rule.startsWith('vram') ? ['vram-guard', 'self-diagnose'] : ['self-diagnose']

const recommendForAlerts = ({ alerts }: Situation): Recommendation[] =>
  alerts
    .toSorted((a, b) => Number(b.level === 'critical') - Number(a.level === 'critical'))
    .flatMap(({ rule, level, message }) =>
      skillsForRule(rule).map(skill => ({
        skill,
        because: 'alert' as const,
        reason: `an alert (${level}) is raised: ${message}`,
      })),
    )

const recommendForGates = ({ decidable }: Situation): Recommendation[] =>
  decidable === 0
    ? []
    : [
        {
          skill: 'gate-routing-query',
          because: 'gate',
          reason: `requests wait at gates that you could decide: ${decidable}`,
        },
      ]

const recommendForModels = ({ modelsMissing }: Situation): Recommendation[] =>
  modelsMissing.length === 0
    ? []
    : ['self-diagnose', 'fleet-utilization'].map(skill => ({
        skill,
        because: 'models' as const,
        reason: `no cell serves ${modelsMissing.slice(0, 5).join(', ')}`,
      }))

const recommendForRoles = ({ roles, lastSkill }: Situation): Recommendation[] =>
  roles.flatMap(({ id, skills }) => {
    const order = skills.filter(skill => skill !== '*')
    const at = lastSkill === undefined ? -1 : order.indexOf(lastSkill)
    const reason =
      at === -1 ? `it is usual in the role ${id}` : `in the role ${id} it follows ${lastSkill}`
    return [...order.slice(at + 1), ...order.slice(0, Math.max(0, at))].map(skill => ({
      skill,
      because: 'role' as const,
      reason,
    }))
  })
