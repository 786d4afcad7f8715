import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import { loadPolicy, SHIPPED_POLICY_FILE } from '../../../../coordinator/access/gates/policy.ts'
import { AgentsConfig } from '../../../../coordinator/agents/sessions/config.ts'
import { recommend, type Situation } from '../../../../coordinator/agents/sessions/recommend.ts'
import {
  hasSkillAccess,
  listAgentRoles,
  roleOf,
  rolesIn,
} from '../../../../coordinator/agents/sessions/roles.ts'
import {
  type AgentSession,
  endReasonOf,
  nextSteps,
  STEPS,
} from '../../../../coordinator/agents/sessions/session.ts'
import { recommendVariant } from '../../../../coordinator/agents/sessions/variant.ts'

const catalogue: { id: string }[] = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../../catalogue/skills.json'), 'utf8'),
)
const SKILLS = new Set(catalogue.map(({ id }) => id))

t.test('the roles', async t => {
  for (const { id, skills, actions } of listAgentRoles())
    t.test(`${id} names only existing skills and actions`, async t => {
      t.strictSame(
        skills.filter(skill => skill !== '*' && !SKILLS.has(skill)),
        [],
      )
      t.equal(new Set(skills).size, skills.length, 'each once')
      const policy = loadPolicy(SHIPPED_POLICY_FILE, loadShippedGates())
      const asker = { kind: 'person' as const, roles: ['operator_admin'] }
      for (const action of actions)
        t.not(policy.decide(action, asker).ruleId, undefined, `a rule knows ${action}`)
    })
  t.equal(new Set(listAgentRoles().map(({ id }) => id)).size, listAgentRoles().length)
  t.strictSame(
    rolesIn(' coding, review,coding').map(({ id }) => id),
    ['coding', 'review'],
  )
  t.throws(() => rolesIn(''), { code: 'invalid_request', param: 'role' })
  t.throws(() => rolesIn('coding,testing,review,release,finance,devices'), { message: /at most 5/ })
  t.ok(hasSkillAccess([roleOf('administration')], 'anything'))
  t.notOk(hasSkillAccess([roleOf('coding')], 'device-command'))
  t.ok(hasSkillAccess([roleOf('coding'), roleOf('devices')], 'device-command'))
})

t.test('the configuration adds profiles and refuses invalid ones', async t => {
  const { profiles } = AgentsConfig.parse({ profiles: { own: { title: 'x', role: 'review' } } })
  t.match(profiles, { own: { role: 'review' }, ci: { variant: 'v2_parallel' } })
  for (const [what, profile] of [
    ['a role that there is not', { title: 'x', role: 'wizard' }],
    ['several roles without their variant', { title: 'x', role: 'coding,review' }],
    ['an unknown field', { title: 'x', color: 'red' }],
  ] as const)
    t.notOk(AgentsConfig.safeParse({ profiles: { own: profile } }).success, what)
  t.notOk(AgentsConfig.safeParse({ session_idle_minutes: 0 }).success)
})

const session = (parts: Partial<AgentSession>): AgentSession =>
  ({ step: 'dock', idleAt: 100, expiresAt: 200, ...parts }) as AgentSession

t.test('the end of a session', async t => {
  for (const [what, parts, now, reason] of [
    ['not before its time', {}, 99, undefined],
    ['at the moment that nothing was done for too long', {}, 100, /it was inactive/],
    ['at the end of its hours', { idleAt: 200 }, 200, /its time limit was reached/],
    ['when it was undocked', { endedAt: 50, outcome: 'done' as const }, 60, /it was done/],
    ['when it is noted', { endedAt: 50, outcome: 'expired' as const }, 60, /has expired/],
  ] as const)
    t.test(what, async t => {
      const because = endReasonOf(session(parts), now)
      if (reason === undefined) return t.equal(because, undefined)
      t.match(because, reason)
      t.strictSame(nextSteps(session(parts), now), [])
    })
})

t.test('every step but the last has a next step, up to the end', async t => {
  for (const step of STEPS.filter(each => each !== 'undock')) {
    const next = nextSteps(session({ step }), 0)
    t.ok(next.length > 1, step)
    t.equal(next.at(-1), 'undock')
  }
})

t.test('the recommended step follows from the situation', async t => {
  const situation = (parts: Partial<Situation> = {}): Situation => ({
    roles: [roleOf('operations')],
    callable: SKILLS,
    lastSkill: undefined,
    alerts: [],
    decidable: 0,
    modelsMissing: [],
    ...parts,
  })
  const recommendFirst = (parts: Partial<Situation>) => recommend(situation(parts))[0]
  const warn = { rule: 'cell_lost', level: 'warn' as const, message: 'c is away' }
  const vram = { rule: 'vram_full', level: 'critical' as const, message: 'g is full' }
  t.match(recommendFirst({}), { skill: 'agent-briefing', because: 'role' })
  t.match(recommendFirst({ lastSkill: 'vram-guard' }), {
    skill: 'self-diagnose',
    because: 'role',
    reason: /follows vram-guard/,
  })
  t.match(recommendFirst({ alerts: [warn, vram] }), {
    skill: 'vram-guard',
    reason: /critical.*g is full/,
  })
  t.match(recommendFirst({ alerts: [warn], decidable: 2 }), {
    skill: 'self-diagnose',
    because: 'alert',
  })
  t.match(recommendFirst({ decidable: 2, modelsMissing: ['m'] }), {
    skill: 'gate-routing-query',
    because: 'gate',
    reason: /: 2$/,
  })
  t.match(recommendFirst({ modelsMissing: ['m'] }), { skill: 'self-diagnose', because: 'models' })
  t.match(
    recommendFirst({ alerts: [warn], callable: new Set(['skill-stats']) }),
    { skill: 'skill-stats' },
    'what the key may not call is left out',
  )
  t.match(
    recommendFirst({ alerts: [warn], roles: [roleOf('finance')] }),
    { skill: 'agent-briefing' },
    'what the role may not call is left out',
  )
  t.strictSame(recommend(situation({ callable: new Set() })), [])
  const all = recommend(situation({ alerts: [warn, vram], decidable: 1 })).map(({ skill }) => skill)
  t.equal(new Set(all).size, all.length, 'each once')
  t.strictSame(
    recommend(situation({ alerts: [warn, vram], decidable: 1 })),
    recommend(situation({ alerts: [warn, vram], decidable: 1 })),
  )
})

t.test('the recommended variant of an agent', async t => {
  const live = (parts: object) => [
    { agentId: 'x', personId: 'ada', kind: 'person', variant: 'solo', ...parts } as AgentSession,
  ]
  for (const [what, type, sessions, variant] of [
    ['a person', 'human', [], 'solo'],
    ['an agent', 'ai_agent', [], 'solo'],
    ['a pipeline', 'ci_pipeline', [], 'v2_parallel'],
    ['an autonomous agent that nobody could look after', 'autonomous', [], 'solo'],
    ['an autonomous agent', 'autonomous', live({}), 'v3_supervised'],
    ['one beside its own person', 'autonomous', live({ personId: 'me' }), 'solo'],
    ['one beside a program', 'autonomous', live({ kind: 'ai_agent' }), 'solo'],
    [
      'an agent side by side',
      'ai_agent',
      live({ agentId: 'me', variant: 'v2_parallel' }),
      'v2_parallel',
    ],
  ] as const)
    t.test(`${what}: ${variant}`, async t => {
      const answer = recommendVariant(type, 'me', 'me', sessions)
      t.equal(answer.variant, variant)
      t.ok(answer.reason)
    })
})
