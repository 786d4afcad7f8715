import t from 'tap'
import { Peers } from '../../../../coordinator/agents/sessions/peers.ts'
import type { Alert } from '../../../../coordinator/fleet/alerts/alert.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { governanceScene } from '../../../support/governance.ts'
import { auditRows } from '../../access/keys/fixtures.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

type Scene = Awaited<ReturnType<typeof governanceScene>>

const skill = ({ call }: Scene, key: string, id: string, input: object = {}) =>
  call(key, 'POST', `/v1/skills/${id}`, input)

const alert = {
  id: 'alert_1',
  rule: 'cell_lost',
  level: 'warn',
  message: 'c is away',
  cellId: 'c',
  raisedAt: 0,
} as unknown as Alert

t.test('operator-peer', async t => {
  const clock = { now: Date.now() }
  const folder = await temporaryFolder(t)
  const scene = await governanceScene(t, {
    folder,
    now: () => clock.now,
    agents: { peer_minutes: 30 },
  })
  const { demo, events, store } = scene
  const peer = (key: string, input: object) =>
    skill(scene, key, 'operator-peer', { role: 'builder', agent_id: 'a', ...input })
  const minutes = (count: number) => {
    clock.now += count * 60_000
  }

  await t.test('requires a key with the role', async t => {
    t.equal((await peer(demo.free, {})).status, 403)
    t.match(await peer(demo.operator, { role: 'finance' }), {
      status: 403,
      json: { error: { message: /key with the role finance/ } },
    })
    t.match(await peer(demo.operator, { role: 'finance', action: 'status' }), {
      status: 200,
      json: { status: 'free', session_id: null, holders: [] },
    })
  })
  const held = await peer(demo.operator, { terminal_label: 'desk 4' })
  const id: string = held.json.session_id
  await t.test('has one holder', async t => {
    t.match(held.json, { status: 'held', fence: 1, holders: [{ terminal_label: 'desk 4' }] })
    t.match(await peer(demo.approver_a, {}), {
      status: 409,
      json: { error: { message: /builder is held by a of demo_operator at desk 4, until/ } },
    })
    t.equal((await peer(demo.operator, { agent_id: 'b' })).status, 409, 'another agent')
    t.equal((await peer(demo.approver_a, { role: 'reviewer' })).status, 200, 'another role')
  })
  await t.test('is renewed by its holder', async t => {
    minutes(20)
    t.match((await peer(demo.operator, {})).json, { session_id: id, fence: 1 })
    minutes(20)
    t.match((await peer(demo.approver_b, { action: 'status' })).json, {
      status: 'held',
      session_id: id,
    })
  })
  await t.test('expires, and an old claim is then void', async t => {
    minutes(10)
    const next = await peer(demo.approver_a, { agent_id: 'next' })
    t.match(next.json, { status: 'held', fence: 2 })
    for (const action of ['release', 'handshake']) {
      const other = action === 'handshake' ? { peer_session_id: next.json.session_id } : {}
      t.match(await peer(demo.operator, { action, session_id: id, ...other }), {
        status: 409,
        json: { error: { message: /fence 1\) ran out/ } },
      })
    }
    await peer(demo.approver_a, {
      agent_id: 'next',
      action: 'release',
      session_id: next.json.session_id,
    })
    t.match((await peer(demo.operator, {})).json, { fence: 3 }, 'the number only grows')
  })
  await t.test('is claimed by exactly one of many simultaneous agents', async t => {
    const keys = [demo.approver_a, demo.approver_b]
    const answers = await Promise.all(
      [...keys, ...keys, ...keys].map((key, n) => peer(key, { role: 'legal', agent_id: `a${n}` })),
    )
    t.equal(answers.filter(({ status }) => status === 200).length, 1)
    t.equal(answers.filter(({ status }) => status === 409).length, 5)
  })
  await t.test('is held once, also through several coordinators', async t => {
    const stores = [store, await temporaryStore(t, folder), await temporaryStore(t, folder)]
    const parts = { holdMs: 60_000, addEvents: async () => {}, now: () => clock.now }
    const ends = await Promise.allSettled(
      stores.map((own, n) => {
        const person = { personId: `p${n}`, keyId: `k${n}`, kind: 'person' as const }
        const caller = { person: { ...person, roles: ['finance'] }, tenantId: 'demo', by: BY }
        const asker = { caller, role: 'finance', agentId: 'a' }
        return new Peers({ runtime: systemRuntime, store: own, ...parts }).claim(asker, undefined)
      }),
    )
    t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1)
  })
  await t.test('completes a handshake when both have named each other', async t => {
    const builder = (await peer(demo.operator, {})).json.session_id
    const architect = (await peer(demo.approver_b, { role: 'architect' })).json.session_id
    const shake = (key: string, role: string, session_id: string, peer_session_id: string) =>
      peer(key, { role, action: 'handshake', session_id, peer_session_id })
    const shakeAsBuilder = () => shake(demo.operator, 'builder', builder, architect)
    t.match((await shakeAsBuilder()).json, { status: 'half' })
    t.match((await shakeAsBuilder()).json, { status: 'half' }, 'again changes nothing')
    t.match((await shake(demo.approver_b, 'architect', architect, builder)).json, {
      status: 'mutual',
    })
    t.match((await shakeAsBuilder()).json, { status: 'mutual' })
    t.equal((await shake(demo.operator, 'builder', builder, builder)).status, 422)
    t.equal((await shake(demo.operator, 'builder', builder, 'peer_none')).status, 404)
    t.equal((await shake(demo.stranger, 'operator_admin', builder, architect)).status, 404)
    t.equal((await shake(demo.approver_a, 'builder', builder, architect)).status, 404, 'not theirs')
    t.equal((await shake(demo.operator, 'operator_admin', builder, architect)).status, 409)
    await peer(demo.approver_b, { role: 'architect', action: 'release', session_id: architect })
    t.match(await shakeAsBuilder(), {
      status: 409,
      json: { error: { message: /architect.*ended at/ } },
    })
  })
  await t.test('reports missing and surplus capabilities', async t => {
    for (const [input, param] of [
      [{ action: 'release' }, 'session_id'],
      [{ action: 'handshake', session_id: id }, 'peer_session_id'],
      [{ session_id: id }, 'session_id'],
      [{ action: 'status', terminal_label: 'x' }, 'terminal_label'],
      [{ role: 'king' }, 'role'],
      [{ agent_id: '' }, 'agent_id'],
    ] as const)
      t.match(await peer(demo.operator, input), { status: 422, json: { error: { param } } })
  })
  await t.test('is recorded and published as an event', async t => {
    const actions = (await auditRows(store)).map(row => row.action)
    for (const action of ['claim', 'renew', 'release', 'handshake'])
      t.ok(actions.includes(`peer.${action}`), action)
    const types = new Set(events.map(({ type }) => type))
    for (const type of ['claimed', 'renewed', 'released', 'handshake'])
      t.ok(types.has(`shoal.peer.${type}`), type)
  })
})

t.test('sads-discover', async t => {
  const scene = await governanceScene(t)
  const { demo, call } = scene
  const discover = async (key: string, input: object = {}) =>
    (await skill(scene, key, 'sads-discover', input)).json
  const seen = await discover(demo.operator)
  t.match(seen, {
    agent_id: 'unknown',
    agent_type: 'ai_agent',
    recommended_variant: 'solo',
    queue_status: { open_claims: 0, live_sessions: 0 },
  })
  t.ok(seen.capabilities.skills.includes('policy-check'))
  const client = await discover(demo.free)
  t.notOk(client.capabilities.skills.includes('policy-check'), 'what the key may call')
  t.ok(client.capabilities.skills.includes('sads-dock'))
  const { json } = await call(demo.operator, 'POST', '/v1/sessions', { agent_id: 'x' })
  await call(demo.operator, 'POST', `/v1/sessions/${json.session_id}/brief`)
  await call(demo.operator, 'POST', `/v1/sessions/${json.session_id}/claim`, { scope: 's' })
  t.match(await discover(demo.approver_a, { agent_type: 'autonomous' }), {
    recommended_variant: 'v3_supervised',
    queue_status: { open_claims: 1, live_sessions: 1 },
  })
  t.match(await discover(demo.stranger), { queue_status: { open_claims: 0, live_sessions: 0 } })
  t.match(await skill(scene, demo.operator, 'sads-discover', { agent_type: 'cat' }), {
    status: 422,
    json: { error: { param: 'agent_type', message: /human, ai_agent/ } },
  })
})

t.test('find-agent and agent-capability-check report matching agents', async t => {
  const scene = await governanceScene(t)
  const { demo, call, keys } = scene
  const find = async (key: string, input: object = {}) =>
    (await skill(scene, key, 'find-agent', input)).json
  t.match(await find(demo.operator), { data_state: 'empty', truncated: false, agents: [] })
  const docked = await call(demo.operator, 'POST', '/v1/sessions', { agent_id: 'fixer' })
  const id: string = docked.json.session_id
  await skill(scene, demo.operator, 'operator-peer', { role: 'builder', agent_id: 'fixer' })
  t.match(await find(demo.approver_a), {
    data_state: 'live',
    agents: [
      {
        agent_id: 'fixer',
        live: true,
        operator_roles: ['builder'],
        sessions: [{ session_id: id }],
      },
    ],
  })
  t.strictSame((await find(demo.stranger)).agents, [])
  t.strictSame((await find(demo.operator, { agent_id: 'other' })).agents, [])

  const check = async (input: object) =>
    (await skill(scene, demo.approver_a, 'agent-capability-check', input)).json
  const fixer = { agent_id: 'fixer' }
  t.match(await check({ ...fixer, skill: 'policy-check' }), {
    capable: true,
    reason: null,
    sessions: [{ session_id: id, capable: true }],
  })
  t.match(await check({ ...fixer, skill: 'compliance-check' }), {
    capable: false,
    reason: /not a skill of the session: coding/,
  })
  t.match(await check({ agent_id: 'nobody', skill: 'policy-check' }), {
    capable: false,
    reason: 'nobody has no live session',
    sessions: [],
  })
  t.match(await check({ agent_id: 'x' }), {
    error: { param: 'skill', message: 'skill is missing' },
  })
  t.match(await check({ skill: 'x' }), {
    error: { code: 'invalid_request', param: 'agent_id', message: 'agent_id is missing' },
  })
  t.match(await check({ ...fixer, skill: 'x' }), { error: { code: 'not_found' } })

  const spec = { tenantId: 'demo', personId: 'demo_free', tier: 'free' as const }
  const client = await keys.create(spec, { actor: 'test' })
  await call(client.secret, 'POST', '/v1/sessions', { agent_id: 'c' })
  t.match(await check({ agent_id: 'c', skill: 'policy-check' }), {
    capable: false,
    reason: /key with one of the roles/,
  })
  await keys.revoke(client.key.id, 'all', { actor: 'test' })
  t.match(await check({ agent_id: 'c', skill: 'agent-briefing' }), {
    capable: false,
    reason: /no longer valid/,
  })
  await call(demo.operator, 'POST', `/v1/sessions/${id}/undock`, { outcome: 'abandoned' })
  t.match(await find(demo.operator, { agent_id: 'fixer' }), {
    agents: [{ agent_id: 'fixer', live: false, sessions: [] }],
  })
})

t.test('agent-briefing and recommend-next-skill follow from the situation', async t => {
  const scene = await governanceScene(t, { alerts: [alert] })
  const { demo, call } = scene
  const ask = { summary: 'release 1.4', plan: { release: '1.4' } }
  const gate = '/v1/gates/gate.minor-release-approve/requests'
  const request = (await call(demo.operator, 'POST', gate, ask)).json.id
  const fetchBriefing = async (key: string, input: object = {}) =>
    (await skill(scene, key, 'agent-briefing', input)).json

  t.match(await fetchBriefing(demo.operator, { role: 'review' }), {
    roles: [{ id: 'review' }],
    waits: {
      to_decide: [],
      yours: [{ request_id: request, state: 'pending' }],
      alerts: [{ id: 'alert_1' }],
    },
  })
  const judge = await fetchBriefing(demo.approver_a, { role: 'review' })
  t.match(judge.waits, { to_decide: [{ request_id: request, summary: 'release 1.4' }], yours: [] })
  t.ok(
    judge.skills.every(({ id }: { id: string }) => id !== 'self-diagnose'),
    'of the role alone',
  )
  t.match(judge.recommended[0], { skill: 'gate-routing-query', because: 'gate' })
  const client = await fetchBriefing(demo.free)
  t.match(client, {
    roles: [{ id: 'coding' }],
    fleet: null,
    waits: { to_decide: [], yours: [], alerts: null },
  })
  const offered = client.skills.map(({ id }: { id: string }) => id)
  t.ok(offered.includes('recommend-next-skill'))
  t.notOk(offered.includes('self-diagnose'), 'its key may not call it')
  t.match((await fetchBriefing(demo.stranger)).waits, { to_decide: [], yours: [] })
  t.match(await fetchBriefing(demo.free, { role: 'wizard' }), { error: { param: 'role' } })

  const next = async (key: string, input: object = {}) =>
    (await skill(scene, key, 'recommend-next-skill', input)).json
  t.match(await next(demo.operator, { role: 'operations' }), {
    skill: 'self-diagnose',
    recommendations: [{ because: 'alert', reason: /c is away/ }],
  })
  t.strictSame(await next(demo.operator), await next(demo.operator), 'the same twice')
  await call(demo.approver_a, 'POST', '/v1/sessions', { agent_id: 'r', role: 'review' })
  t.match(await next(demo.approver_a), { roles: ['review'], skill: 'gate-routing-query' })
})
