import t from 'tap'
import { createAgents } from '../../../../coordinator/agents/sessions/agents.ts'
import { AgentsConfig } from '../../../../coordinator/agents/sessions/config.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { governanceScene } from '../../../support/governance.ts'
import { auditRows } from '../../access/keys/fixtures.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

type Scene = Awaited<ReturnType<typeof governanceScene>>

/** Calls of one key at one session. */
const createStep =
  ({ call }: Scene, key: string, id: string) =>
  (step: string, body: object = {}) =>
    call(key, 'POST', `/v1/sessions/${id}/${step}`, body)

const dock = async (scene: Scene, key: string, input: object = {}): Promise<string> => {
  const { status, json } = await scene.call(key, 'POST', '/v1/sessions', {
    agent_id: 'fixer',
    ...input,
  })
  if (status !== 200) throw new Error(JSON.stringify(json))
  return json.session_id
}

/** Docks and goes on to a claim of `scope`. */
const dockAndClaim = async (scene: Scene, key: string, scope: string, input: object = {}) => {
  const id = await dock(scene, key, input)
  const step = createStep(scene, key, id)
  await step('brief')
  await step('claim', { scope })
  return { id, step }
}

t.test('a session passes through seven steps', async t => {
  const scene = await governanceScene(t)
  const { call, demo, events, store } = scene
  const docked = await call(demo.operator, 'POST', '/v1/skills/sads-dock', { agent_id: 'fixer' })
  t.match(docked, {
    status: 200,
    json: {
      agent_id: 'fixer',
      agent_type: 'ai_agent',
      roles: ['coding'],
      variant: 'solo',
      step: 'dock',
      next: ['brief', 'undock'],
      live: true,
      person_id: 'demo_operator',
    },
  })
  const id: string = docked.json.session_id
  const step = createStep(scene, demo.operator, id)

  const briefed = await step('brief')
  t.match(briefed.json, {
    session: { step: 'brief', next: ['claim', 'undock'] },
    roles: [{ id: 'coding', operator_role: 'builder' }],
    fleet: { degraded: false, models_served: ['model-a:7b'] },
    waits: { to_decide: [], yours: [], alerts: [] },
    recommended: [{ skill: 'agent-briefing', because: 'models' }].slice(1),
  })
  t.ok(
    briefed.json.rules.actions.some(
      (rule: { action_type: string; gate_id: string }) =>
        rule.action_type === 'release.minor' && rule.gate_id === 'gate.minor-release-approve',
    ),
  )
  t.match((await step('claim', { scope: 'repo:api', task_id: 'API-12' })).json, {
    step: 'claim',
    claims: [{ scope: 'repo:api', task_id: 'API-12' }],
  })
  t.match((await step('check', { action_type: 'read.fleet' })).json, {
    status: 'passed',
    answer: { decision: 'allowed' },
    session: { step: 'check' },
  })
  for (const action_type of ['release.major', 'read.fleet'])
    t.match(
      (await step('execute', { skill: 'policy-check', input: { action_type } })).json,
      { skill: 'policy-check', output: { action_type } },
      'any number of times',
    )
  const items = [{ kind: 'commit', text: '4f2a' }]
  const shown = await step('evidence', { summary: 'tests pass', items })
  t.match(shown.json, { step: 'evidence', claims: [], next: ['claim', 'undock'] })
  t.match((await step('undock')).json, { step: 'undock', outcome: 'done', live: false, next: [] })

  const whole = await call(demo.operator, 'GET', `/v1/sessions/${id}`)
  t.match(whole.json, { evidence: [{ summary: 'tests pass', items, scopes: ['repo:api'] }] })
  const rows = (await auditRows(store)).filter(row => row.subject === id)
  const made = ['dock', 'brief', 'claim', 'check', 'execute', 'execute', 'evidence', 'undock']
  t.strictSame(
    rows.map(row => row.action),
    made.map(name => `session.${name}`),
  )
  t.ok(rows.every(row => row.tenant === 'demo' && row.actor.startsWith('key:')))
  t.strictSame(
    events.filter(({ subject }) => subject === id).map(({ type }) => type),
    [
      'docked',
      'briefed',
      'claimed',
      'checked',
      'executed',
      'executed',
      'evidenced',
      'undocked',
    ].map(what => `shoal.session.${what}`),
  )
  t.ok(
    events.every(
      ({ data, subject }) => subject !== id || 'outcome' in JSON.parse(JSON.stringify(data)),
    ),
    'members without a value are null',
  )
})

t.test('a step out of order is a conflict that names the possible next steps', async t => {
  const scene = await governanceScene(t)
  const { demo } = scene
  const bodies: Record<string, object> = {
    claim: { scope: 'x' },
    check: { action_type: 'read.x' },
    execute: { skill: 'policy-check', input: { action_type: 'read.x' } },
    evidence: { summary: 'x' },
  }
  const all = ['brief', 'claim', 'check', 'execute', 'evidence']
  const ways: Record<string, string[]> = {
    dock: ['brief'],
    brief: ['claim'],
    claim: ['claim', 'check'],
    check: ['check', 'execute', 'evidence'],
    execute: ['check', 'execute', 'evidence'],
    evidence: ['claim'],
  }
  for (const [n, [name, next]] of Object.entries(ways).entries())
    await t.test(`after ${name}`, async t => {
      const id = await dock(scene, demo.operator, { agent_id: `at-${name}` })
      const step = createStep(scene, demo.operator, id)
      for (const made of ['brief', 'claim', 'check', 'execute', 'evidence'].slice(0, n))
        t.equal((await step(made, bodies[made])).status, 200)
      for (const wrong of all.filter(each => !next.includes(each)))
        t.match(await step(wrong, bodies[wrong]), {
          status: 409,
          json: { error: { code: 'conflict', message: new RegExp(`allowed next: ${next[0]}`) } },
        })
      if (name !== 'evidence')
        t.match(await step('undock'), { status: 409, json: { error: { message: /abandoned/ } } })
      t.equal((await step('undock', { outcome: 'abandoned' })).status, 200)
      t.match(await step('brief'), { status: 409, json: { error: { message: /is over/ } } })
    })
})

t.test('after evidence the agent may claim again', async t => {
  const scene = await governanceScene(t)
  const { step } = await dockAndClaim(scene, scene.demo.operator, 'one')
  await step('check', { action_type: 'read.x' })
  await step('evidence', { summary: 'first' })
  t.match(await step('claim', { scope: 'two' }), { status: 200, json: { step: 'claim' } })
  t.equal((await step('execute', { skill: 'policy-check' })).status, 409, 'checked anew')
})

t.test('a scope', async t => {
  const folder = await temporaryFolder(t)
  const scene = await governanceScene(t, { folder, agents: { claims_per_session: 2 } })
  const { demo } = scene
  const { step } = await dockAndClaim(scene, demo.operator, 'repo:api')
  const other = createStep(
    scene,
    demo.approver_a,
    await dock(scene, demo.approver_a, { agent_id: 'b' }),
  )
  await other('brief')
  await t.test('is held by one session, and the holder is reported', async t => {
    t.match(await other('claim', { scope: 'repo:api' }), {
      status: 409,
      json: { error: { message: /held by fixer of demo_operator, until \d{4}-/ } },
    })
  })
  await t.test('is claimed by exactly one of many simultaneous sessions', async t => {
    const others: (typeof other)[] = []
    for (let n = 0; n < 6; n++) {
      const next = createStep(
        scene,
        demo.approver_b,
        await dock(scene, demo.approver_b, { agent_id: `p${n}` }),
      )
      await next('brief')
      others.push(next)
    }
    const answers = await Promise.all(others.map(each => each('claim', { scope: 'race' })))
    t.equal(answers.filter(({ status }) => status === 200).length, 1)
    t.equal(answers.filter(({ status }) => status === 409).length, others.length - 1)
  })
  await t.test('is claimed by exactly one, also through several coordinators', async t => {
    const config = AgentsConfig.parse({ claims_per_session: 50 })
    const stores = [scene.store, await temporaryStore(t, folder), await temporaryStore(t, folder)]
    const coordinators = stores.map(
      store =>
        createAgents({
          runtime: systemRuntime,
          store,
          config,
          addEvents: async () => {},
          now: Date.now,
        }).sessions,
    )
    const person = { personId: 'demo_operator', keyId: 'k', kind: 'person' as const, roles: [] }
    const caller = { person, tenantId: 'demo', by: BY }
    const asked = { agentType: 'ai_agent', role: 'coding', variant: 'v2_parallel' } as const
    const none = { profileId: undefined, supervisorId: undefined }
    const docked = await Promise.all(
      coordinators.map(each => each.dock({ agentId: 'wide', ...asked, ...none }, caller)),
    )
    await Promise.all(coordinators.map((each, n) => each.brief(docked[n]?.id ?? '', caller)))
    const alone = { agentId: 'alone', ...asked, ...none, variant: 'solo' as const }
    const docks = await Promise.allSettled(coordinators.map(each => each.dock(alone, caller)))
    t.equal(docks.filter(({ status }) => status === 'fulfilled').length, 1, 'solo is alone')
    for (let round = 0; round < 10; round++) {
      const claim = { scope: `wide-${round}`, taskId: undefined }
      const ends = await Promise.allSettled(
        coordinators.map((each, n) => each.claim(docked[n]?.id ?? '', caller, claim)),
      )
      t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1)
      for (const end of ends)
        if (end.status === 'rejected') t.match(end.reason, { code: 'conflict' })
    }
  })
  await t.test('of the same session is not claimed twice', async t => {
    const again = await step('claim', { scope: 'repo:api', task_id: 'T-2' })
    t.match(again, { status: 200, json: { claims: [{ task_id: 'T-2' }] } })
  })
  await t.test('counts towards a limit', async t => {
    for (const scope of ['s1', 's2']) await step('claim', { scope })
    t.match(await step('claim', { scope: 's3' }), {
      status: 409,
      json: { error: { message: /holds 2 scopes/ } },
    })
  })
  await t.test('is free after undocking', async t => {
    await step('undock', { outcome: 'abandoned' })
    t.equal((await other('claim', { scope: 'repo:api' })).status, 200)
  })
  await t.test('consists of visible text', async t => {
    t.match(await other('claim', { scope: 'a\u202eb' }), {
      status: 422,
      json: { error: { param: 'scope' } },
    })
  })
})

t.test('time', async t => {
  const clock = { now: Date.now() }
  const settings = { session_idle_minutes: 10, session_hours: 1, kept_days: 1 }
  const scene = await governanceScene(t, { now: () => clock.now, agents: settings })
  const { demo, call, agents, store, events } = scene
  const minutes = (count: number) => {
    clock.now += count * 60_000
  }
  const { id, step } = await dockAndClaim(scene, demo.operator, 'repo:api')
  await t.test('keeps a session with an active action alive', async t => {
    for (let n = 0; n < 5; n++) {
      minutes(9)
      t.equal((await step('claim', { scope: 'repo:api' })).status, 200)
    }
  })
  await t.test('ends an idle session and is then free', async t => {
    minutes(10)
    t.match(await step('check', { action_type: 'read.x' }), {
      status: 409,
      json: { error: { code: 'conflict', message: /has expired at .*it was inactive/ } },
    })
    const next = await dockAndClaim(scene, demo.approver_a, 'repo:api', { agent_id: 'next' })
    t.match((await call(demo.approver_a, 'GET', `/v1/sessions/${next.id}`)).json, {
      claims: [{ scope: 'repo:api' }],
    })
    t.match((await call(demo.operator, 'GET', `/v1/sessions/${id}`)).json, {
      live: false,
      outcome: 'expired',
      claims: [],
    })
    t.ok(events.some(({ type, subject }) => type === 'shoal.session.expired' && subject === id))
    t.ok((await auditRows(store)).some(row => row.action === 'session.expire'))
  })
  await t.test('ends every session after some hours', async t => {
    const long = await dockAndClaim(scene, demo.operator, 'long')
    for (let n = 0; n < 6; n++) {
      minutes(9)
      await long.step('claim', { scope: 'long' })
    }
    minutes(6)
    t.match(await long.step('claim', { scope: 'long' }), {
      status: 409,
      json: { error: { message: /its time limit was reached/ } },
    })
  })
  await t.test('allows old sessions to be deleted', async t => {
    minutes(24 * 60 + 61)
    await agents.sessions.sweep()
    await agents.sessions.sweep()
    t.equal((await call(demo.operator, 'GET', `/v1/sessions/${id}`)).status, 404)
  })
})

t.test('a session survives its process', async t => {
  const folder = await temporaryFolder(t)
  const before = await governanceScene(t, { folder })
  const { id } = await dockAndClaim(before, before.demo.operator, 'repo:api')
  const person = { personId: 'demo_operator', keyId: 'k', kind: 'person' as const, roles: [] }
  const caller = { person, tenantId: 'demo', by: BY }
  const { sessions } = createAgents({
    runtime: systemRuntime,
    store: await temporaryStore(t, folder),
    config: AgentsConfig.parse({}),
    addEvents: async () => {},
    now: Date.now,
  })
  t.match(await sessions.get(id, caller), { step: 'claim', claims: [{ scope: 'repo:api' }] })
  const check = { actionType: 'read.x', context: undefined, requestId: undefined }
  t.match(await sessions.pass(id, caller, check), { step: 'check' })
})

t.test('a check', async t => {
  const scene = await governanceScene(t)
  const { demo, call } = scene
  const { id, step } = await dockAndClaim(scene, demo.operator, 'release')
  const check = (body: object = {}) => step('check', { action_type: 'release.minor', ...body })
  const ask = async (gate = 'gate.minor-release-approve') => {
    const plan = { action_type: 'release.minor', n: Math.random() }
    const body = { summary: 'release', plan }
    return (await call(demo.operator, 'POST', `/v1/gates/${gate}/requests`, body)).json.id
  }
  const approve = (request: string, key = demo.approver_a) =>
    call(key, 'POST', `/v1/gates/requests/${request}/approve`)

  await t.test('of a denied action is forbidden and recorded', async t => {
    t.match(await step('check', { action_type: 'audit.delete' }), {
      status: 403,
      json: { error: { message: /audit.delete is denied/ } },
    })
    const rows = await auditRows(scene.store)
    t.match(rows.at(-1), { action: 'session.check', outcome: 'refused' })
  })
  await t.test('that needs a gate names it, and the session stays at its claim', async t => {
    t.match((await check()).json, {
      status: 'pending',
      waits_for: 'gate',
      gate_id: 'gate.minor-release-approve',
      request_id: null,
      next: /shoal gate request gate\.minor-release-approve/,
      session: { step: 'claim' },
    })
    t.equal((await step('execute', { skill: 'policy-check' })).status, 409)
  })
  await t.test('waits for the approval of others, and consumes it', async t => {
    const request_id = await ask()
    t.match((await check({ request_id })).json, { status: 'pending', request_id })
    await approve(request_id)
    t.match((await check({ request_id })).json, { status: 'passed', session: { step: 'check' } })
    const { json } = await call(demo.operator, 'GET', `/v1/gates/requests/${request_id}`)
    t.equal(json.state, 'consumed')
    t.match((await check({ request_id })).json, {
      status: 'blocked',
      next: /the request is consumed/,
      session: { step: 'claim' },
    })
  })
  await t.test('consumes an approval once, however many calls race', async t => {
    const request_id = await ask()
    await approve(request_id)
    const second = await dockAndClaim(scene, demo.operator, 'release-2', { agent_id: 'second' })
    const body = { action_type: 'release.minor', request_id }
    const answers = await Promise.all([check(body), second.step('check', body), check(body)])
    t.equal(answers.filter(({ json }) => json.status === 'passed').length, 1)
  })
  await t.test('accepts no other approval', async t => {
    const elsewhere = await ask('gate.major-release-approve')
    t.match(await check({ request_id: elsewhere }), {
      status: 422,
      json: { error: { param: 'request_id' } },
    })
    t.match(await step('check', { action_type: 'read.x', request_id: elsewhere }), {
      status: 422,
      json: { error: { param: 'request_id' } },
    })
    const other = await call(
      demo.approver_b,
      'POST',
      '/v1/gates/gate.minor-release-approve/requests',
      {
        summary: 'x',
        plan: 1,
      },
    )
    t.equal((await check({ request_id: other.json.id })).status, 404, 'of another person')
    t.equal((await check({ request_id: 'gate_none' })).status, 404)
    const rejected = await ask()
    await call(demo.approver_a, 'POST', `/v1/gates/requests/${rejected}/reject`)
    t.match((await check({ request_id: rejected })).json, { status: 'blocked' })
    const key = await call(demo.operator, 'POST', '/v1/keys', { tier: 'free' })
    await approve(key.json.request_id)
    const taken = { action_type: 'key.issue', request_id: key.json.request_id }
    t.match(await step('check', taken), {
      status: 409,
      json: { error: { message: /belongs to the operation/ } },
    })
  })
  await t.test('accepts no approval of another action at the same gate', async t => {
    const request_id = await ask()
    await approve(request_id)
    for (const body of [{ action_type: 'content.publish' }, { context: '{"sha":"abc"}' }]) {
      const refused = await check({ request_id, ...body })
      t.equal(refused.status, 422, JSON.stringify(refused.json))
      t.equal(refused.json.error.param, 'request_id')
    }
    t.match((await check({ request_id })).json, { status: 'passed' })
  })
  await t.test('that fails withdraws the earlier pass', async t => {
    t.equal((await step('check', { action_type: 'read.x' })).json.session.step, 'check')
    t.equal((await check()).json.session.step, 'claim')
    t.equal((await call(demo.operator, 'GET', `/v1/sessions/${id}`)).json.step, 'claim')
  })
})

t.test('a session executes only skills that its role and key allow', async t => {
  const scene = await governanceScene(t)
  const { demo, store } = scene
  const ready = async (key: string, agent_id: string, role: string) => {
    const { id, step } = await dockAndClaim(scene, key, agent_id, { agent_id, role })
    await step('check', { action_type: 'read.x' })
    return { id, run: (skill: string, input: object = {}) => step('execute', { skill, input }) }
  }
  const reviewer = await ready(demo.operator, 'r', 'review')
  t.match(await reviewer.run('self-diagnose'), {
    status: 403,
    json: { error: { message: /not a skill of the session: review/, param: 'skill' } },
  })
  t.equal((await reviewer.run('no-such-skill')).status, 404)
  t.match(await reviewer.run('gate-routing-query', { gate_id: 7 }), {
    status: 422,
    json: { error: { param: 'gate_id' } },
  })
  t.match((await reviewer.run('gate-routing-query', { gate_id: 'gate.production-deploy' })).json, {
    output: { approver_roles: ['operator_admin'] },
  })
  const all = await ready(demo.operator, 'a', 'administration')
  t.equal((await all.run('skill-stats')).status, 200, 'the role says everything')
  const client = await ready(demo.free, 'c', 'administration')
  t.match(await client.run('skill-stats'), {
    status: 403,
    json: { error: { message: /needs a key with one of the roles/ } },
  })
  const rows = await auditRows(store)
  const executed = rows.filter(row => row.action === 'session.execute')
  t.notOk(
    executed.some(row => row.subject === client.id),
    'what is refused is not executed',
  )
})

t.test('the role and profile of a docking agent', async t => {
  const scene = await governanceScene(t, { agents: { sessions_per_tenant: 4 } })
  const { call, demo } = scene
  const postSession = (input: object, key: string = demo.operator) =>
    call(key, 'POST', '/v1/sessions', { agent_id: 'fixer', ...input })
  for (const [what, input, param, message] of [
    ['an unknown role', { role: 'wizard' }, 'role', /there are coding, testing/],
    ['an unknown profile', { profile_id: 'x' }, 'profile_id', /there are developer/],
    ['a profile of the prototype', { profile_id: 'constructor' }, 'profile_id', /there is no/],
    ['several roles alone', { role: 'coding,review' }, 'role', /v1_multi_role/],
    ['no supervisor', { variant: 'v3_supervised' }, 'supervisor', /is missing/],
    ['a supervisor of a solo', { supervisor: 'session_x' }, 'supervisor', /only variant/],
    ['an unknown variant', { variant: 'v4' }, 'variant', /./],
    ['an unknown type', { agent_type: 'cat' }, 'agent_type', /./],
    ['no name', { agent_id: '' }, 'agent_id', /./],
    ['a name that hides something', { agent_id: 'a\u200bb' }, 'agent_id', /invisible characters/],
    ['a field that there is not', { scope: 'x' }, undefined, /./],
  ] as const)
    await t.test(`${what} is refused`, async t => {
      const answer = await postSession(input)
      t.equal(answer.status, 422)
      t.match(answer.json.error.message, message)
      if (param !== undefined) t.equal(answer.json.error.param, param)
    })
  await t.test('a profile supplies the omitted values', async t => {
    const { json } = await postSession({ agent_id: 'p', profile_id: 'ci', role: 'coding' })
    t.match(json, { roles: ['testing'], variant: 'v2_parallel', agent_type: 'ci_pipeline' })
    await createStep(scene, demo.operator, json.session_id)('undock', { outcome: 'abandoned' })
    const own = await postSession({ agent_id: 'q', profile_id: 'ci', role: 'review' })
    t.match(own.json, { roles: ['review'], variant: 'v2_parallel' })
    await createStep(scene, demo.operator, own.json.session_id)('undock', { outcome: 'abandoned' })
  })
  await t.test('a solo agent runs alone, and the live one is named', async t => {
    const id = await dock(scene, demo.operator)
    t.match(await postSession({}), {
      status: 409,
      json: { error: { code: 'conflict', message: new RegExp(`${id} of yours, at dock`) } },
    })
    t.equal((await postSession({ variant: 'v2_parallel' })).status, 409)
    t.equal((await postSession({}, demo.stranger)).status, 200, 'in another tenant it is free')
    await createStep(scene, demo.operator, id)('undock', { outcome: 'abandoned' })
  })
  await t.test('exactly one of many simultaneous solo agents docks', async t => {
    const answers = await Promise.all([
      postSession({}),
      postSession({}),
      postSession({}, demo.approver_a),
    ])
    t.strictSame(answers.map(({ status }) => status).toSorted(), [200, 409, 409])
    const done = answers.find(({ status }) => status === 200)
    const key = done?.json.person_id === 'demo_operator' ? demo.operator : demo.approver_a
    await createStep(scene, key, done?.json.session_id)('undock', { outcome: 'abandoned' })
  })
  await t.test('several agents run in parallel up to the limit of the tenant', async t => {
    const parallel = { agent_id: 'many', variant: 'v2_parallel' }
    for (let n = 0; n < 4; n++) t.equal((await postSession(parallel)).status, 200)
    t.match(await postSession(parallel), {
      status: 409,
      json: { error: { message: /4 sessions are live in this tenant/ } },
    })
    t.match((await call(demo.operator, 'GET', '/v1/sessions?live=true&limit=3')).json, {
      sessions: { length: 3 },
      next: /^session_/,
    })
  })
})

t.test("a caller's own sessions are paged, and others are not found", async t => {
  const scene = await governanceScene(t)
  const { call, demo } = scene
  const ids: string[] = []
  for (let n = 0; n < 5; n++) ids.push(await dock(scene, demo.operator, { agent_id: `a${n}` }))
  const seen: string[] = []
  let path: string | undefined = '/v1/sessions?limit=2'
  while (path !== undefined) {
    const { json } = await call(demo.operator, 'GET', path)
    seen.push(...json.sessions.map(({ session_id }: { session_id: string }) => session_id))
    path = json.next === null ? undefined : `/v1/sessions?limit=2&before=${json.next}`
  }
  t.strictSame(seen, ids.toReversed())
  const [id = ''] = ids
  for (const key of [demo.approver_a, demo.stranger]) {
    t.equal((await call(key, 'GET', `/v1/sessions/${id}`)).status, 404)
    t.equal((await createStep(scene, key, id)('undock', { outcome: 'abandoned' })).status, 404)
    t.strictSame((await call(key, 'GET', '/v1/sessions')).json.sessions, [])
  }
  t.equal((await call('', 'GET', '/v1/sessions')).status, 401)
})

t.test('a supervised session needs a supervisor of another person', async t => {
  const scene = await governanceScene(t)
  const { demo, call, keys } = scene
  const supervisor = await dock(scene, demo.approver_a, { agent_id: 'boss', agent_type: 'human' })
  const supervised = { variant: 'v3_supervised', supervisor }
  const postSupervised = async (input: object) =>
    (await call(demo.operator, 'POST', '/v1/sessions', { agent_id: 'x', ...supervised, ...input }))
      .status
  t.equal(
    await postSupervised({ supervisor: await dock(scene, demo.operator, { agent_id: 'me' }) }),
    403,
  )
  t.equal(
    await postSupervised({ supervisor: await dock(scene, demo.stranger, { agent_id: 's' }) }),
    404,
  )
  t.equal(await postSupervised({ supervisor: 'session_none' }), 404)
  const spec = { tenantId: 'demo', personId: 'demo_approver_b', tier: 'pro' as const }
  const program = await keys.create({ ...spec, kind: 'ai_agent' }, { actor: 'test' })
  const robot = await dock(scene, program.secret, { agent_id: 'robot' })
  t.equal(await postSupervised({ supervisor: robot }), 403, 'programs supervise nobody')

  const { id, step } = await dockAndClaim(scene, demo.operator, 'night', {
    agent_id: 'n',
    ...supervised,
  })
  const boss = createStep(scene, demo.approver_a, id)
  const check = { action_type: 'read.fleet', context: 'look at it' }
  t.match(await boss('check', { ...check, confirm: true }), { status: 409 }, 'nothing waits')
  t.match((await step('check', check)).json, {
    status: 'pending',
    waits_for: 'supervisor',
    session: { step: 'claim', waiting_check: { action_type: 'read.fleet', context: 'look at it' } },
  })
  t.equal((await step('execute', { skill: 'policy-check' })).status, 409)
  t.match((await step('check', check)).json, { status: 'pending' }, 'again changes nothing')
  t.match((await call(demo.approver_a, 'GET', `/v1/sessions/${id}`)).json, {
    waiting_check: check,
  })
  t.equal((await step('check', { ...check, confirm: true })).status, 403, 'not by oneself')
  const bProgram = await keys.create(
    { ...spec, personId: 'demo_approver_a', kind: 'autonomous' },
    { actor: 'test' },
  )
  const program2 = createStep(scene, bProgram.secret, id)
  t.equal((await program2('check', { ...check, confirm: true })).status, 403, 'not by a program')
  const third = createStep(scene, demo.approver_b, id)
  t.equal((await third('check', { ...check, confirm: true })).status, 404)
  t.match(await boss('check', { action_type: 'read.other', confirm: true }), {
    status: 409,
    json: { error: { message: /another check waits: read.fleet/ } },
  })
  t.equal((await boss('brief')).status, 404, 'and nothing else')
  t.match((await boss('check', { ...check, confirm: true })).json, {
    status: 'passed',
    session: { step: 'check', waiting_check: null },
  })
  t.equal(
    (await step('execute', { skill: 'policy-check', input: { action_type: 'read.x' } })).status,
    200,
  )
  await step('check', { action_type: 'read.more' })
  await createStep(scene, demo.approver_a, supervisor)('undock', { outcome: 'abandoned' })
  t.match(
    await boss('check', { action_type: 'read.more', confirm: true }),
    { status: 409, json: { error: { message: /is over/ } } },
    'who has undocked supervises no more',
  )
})

t.test('evidence is limited in size', async t => {
  const scene = await governanceScene(t)
  const { step } = await dockAndClaim(scene, scene.demo.operator, 'x')
  await step('check', { action_type: 'read.x' })
  for (const [body, param] of [
    [{}, 'summary'],
    [{ summary: 'x'.repeat(4001) }, 'summary'],
    [{ summary: 'x', items: [{ kind: 'log' }] }, 'items.0'],
    [{ summary: 'x', items: [{ kind: 'log', uri: 'javascript:alert(1)' }] }, 'items.0.uri'],
    [{ summary: 'x', items: [{ kind: 'log', text: 'x', sha256: 'abc' }] }, 'items.0.sha256'],
    [{ summary: 'x', items: Array(21).fill({ kind: 'log', text: 'x' }) }, 'items'],
  ] as const)
    t.match(await step('evidence', body), { status: 422, json: { error: { param } } })
})

t.test('the progress of a task is shown with the scope claimed for it', async t => {
  const scene = await governanceScene(t)
  const { call, demo, events, store } = scene
  const { id, step } = await dockAndClaim(scene, demo.operator, 'repo:api')
  const update = (key: string, body: object) => call(key, 'POST', '/v1/sessions/tasks/API-12', body)
  const told = await update(demo.operator, { scope: 'repo:api', state: 'in_review' })
  t.match(told, {
    status: 200,
    json: {
      session_id: id,
      step: 'claim',
      claims: [{ scope: 'repo:api', task_id: 'API-12', task_state: 'in_review' }],
    },
  })
  const row = (await auditRows(store)).find(({ action }) => action === 'session.task')
  t.match(row, { subject: id, details: { task: 'API-12', state: 'in_review' } })
  t.ok(events.some(({ type }) => type === 'shoal.session.updated'))
  const again = await step('claim', { scope: 'repo:api', task_id: 'API-12' })
  t.equal(again.json.claims[0].task_state, 'in_review')
  const other = await step('claim', { scope: 'repo:api', task_id: 'API-13' })
  t.equal(other.json.claims[0].task_state, null, 'of another task nothing was told')

  for (const [key, body, status] of [
    [demo.approver_a, { scope: 'repo:api', state: 'done' }, 404],
    [demo.stranger, { scope: 'repo:api', state: 'done' }, 404],
    [demo.operator, { scope: 'repo:web', state: 'done' }, 404],
    [demo.operator, { scope: 'repo:api', state: 'nearly' }, 422],
    [demo.operator, { scope: 'repo:api' }, 422],
  ] as const)
    t.equal((await update(key, body)).status, status, JSON.stringify(body))
  await step('undock', { outcome: 'abandoned' })
  t.equal((await update(demo.operator, { scope: 'repo:api', state: 'done' })).status, 404)
})
