import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { parse, stringify } from 'yaml'
import { RequestView } from '../../../../coordinator/access/gates/operations/gate-view.ts'
import { SHIPPED_POLICY_FILE } from '../../../../coordinator/access/gates/policy.ts'
import { governanceScene } from '../../../support/governance.ts'
import { auditRows } from '../../access/keys/fixtures.ts'

const loadShippedPolicy = () => parse(readFileSync(SHIPPED_POLICY_FILE, 'utf8'))
/** The shipped policy with a rule and a test more, and a gate with other rules. */
const createChangedPolicy = (version: string, gates: object = {}) => {
  const { rules, tests } = loadShippedPolicy()
  const actions = [`${version}.do`]
  const rule = { id: version, actions, decision: 'allowed', reason: 'It is harmless.' }
  const test = { action_type: actions[0], expect: 'allowed' }
  return { version, rules: [...rules, rule], tests: [...tests, test], gates }
}

const scene = async (t: Pick<Test, 'teardown'>) => {
  const { demo, call, text, store } = await governanceScene(t)
  const change = (document: unknown, more: object = {}, key = demo.operator) =>
    call(key, 'POST', '/v1/policy', {
      document: typeof document === 'string' ? document : stringify(document),
      ...more,
    })
  const decide = (id: string, verb: string, key: string, body: object = {}) =>
    call(key, 'POST', `/v1/gates/requests/${id}/${verb}`, body)
  const show = async (query = '') => (await call(demo.operator, 'GET', `/v1/policy${query}`)).json
  /** Requests a change, which both approve, and carries it out. */
  const carry = async (document: unknown) => {
    const { json } = await change(document)
    await decide(json.request_id, 'approve', demo.approver_a)
    await decide(json.request_id, 'approve', demo.approver_b)
    return change(document)
  }
  return { demo, call, text, store, change, decide, show, carry }
}

t.test('a policy is changed by two other people, immediately and once', async t => {
  const { demo, call, text, store, change, decide, show } = await scene(t)
  const ask = (action: string) => `/v1/policy/checks?action_type=${action}`
  t.match(await show(), { number: 0, source: 'shipped', in_force: true, drift: null })

  const asked = await change(createChangedPolicy('two'), { reason: 'we need it' })
  t.equal(asked.status, 202)
  t.match(asked.json, {
    gate_id: 'gate.policy-change',
    summary: 'policy two for 2: 1 rule added, 1 test added',
    difference: [{ what: 'version' }, { what: 'rule', id: 'two', change: 'added' }],
  })
  const id = asked.json.request_id
  const seen = (await call(demo.approver_a, 'GET', `/v1/gates/requests/${id}`)).json
  t.match(JSON.parse(seen.plan_text), {
    action: 'policy.change',
    document_hash: /^[0-9a-f]{64}$/,
    replaces: { number: 0, hash: (await show()).hash },
    document: { version: 'two' },
  })
  t.match(seen.evidence_text, /It is harmless/)
  const fields = Object.keys(RequestView.shape).filter(field => field !== 'hint')
  t.strictSame(Object.keys(seen), fields, 'two others can approve it, so there is no hint')
  t.strictSame(Object.keys(seen).slice(0, 3), ['id', 'state', 'summary'])

  t.match(await decide(id, 'approve', demo.operator), { status: 403 }, 'not by who asked')
  t.match((await decide(id, 'approve', demo.approver_a)).json, { state: 'pending' })
  t.equal(
    (await change(createChangedPolicy('two'), { reason: 'we need it' })).status,
    202,
    'one is not two',
  )
  t.match((await decide(id, 'approve', demo.approver_b)).json, { state: 'approved' })
  t.match(
    await call(demo.operator, 'POST', `/v1/gates/requests/${id}/consume`, { plan: {} }),
    { status: 403 },
    'not for another plan',
  )
  t.match((await call(demo.operator, 'GET', ask('two.do'))).json, { status: 'denied' }, 'not yet')

  const both = await Promise.all(
    [0, 1].map(() => change(createChangedPolicy('two'), { reason: 'we need it' })),
  )
  const statuses = both.map(({ json }) => json.status).toSorted()
  t.ok(statuses.includes('changed'), JSON.stringify(both.map(({ json }) => json)))
  t.equal(statuses.filter(status => status === 'changed').length, 1, 'used once')
  t.match((await call(demo.operator, 'GET', ask('two.do'))).json, {
    status: 'allowed',
    answer: { policy_version: 'two' },
  })
  t.match((await change(createChangedPolicy('two'))).json, { status: 'unchanged', number: 1 })

  const now = await show()
  t.match(now, {
    number: 1,
    version: 'two',
    source: 'approved',
    request_id: id,
    reason: 'we need it',
    changed_by: 'demo_operator',
    in_force: true,
    document: { version: 'two' },
  })
  t.match(await show('?number=0'), { number: 0, version: '2', in_force: false })
  t.match((await call(demo.operator, 'GET', '/v1/policy?number=7')).status, 404)
  const [type, yaml] = await text(demo.operator, '/v1/policy?as=yaml')
  t.match(type, /^text\/plain/)
  t.strictSame(parse(String(yaml)), now.document, 'what is shown is what a file takes')
  const history = (await call(demo.operator, 'GET', '/v1/policy/history')).json
  t.match(history, { policies: [{ number: 1, hash: now.hash, request_id: id }], next: null })
  const rows = (await auditRows(store)).filter(({ action }) => action === 'policy.change')
  t.match(rows, [{ subject: 'policy-1', actor: /^key:/ }])
})

t.test('invalid policy changes are refused before approval is requested', async t => {
  const { demo, call, change } = await scene(t)
  const failing = {
    ...createChangedPolicy('two'),
    tests: [{ action_type: 'x.y', expect: 'allowed' }],
  }
  for (const [what, document, message] of [
    ['a failing table', failing, /test 1: x\.y by person \(client\) is denied, not allowed/],
    [
      'its own name again',
      { ...createChangedPolicy('two'), version: '2' },
      /version 2 is in force/,
    ],
    ['no YAML', 'a: [', /document/],
    [
      'a weaker gate',
      createChangedPolicy('two', {
        'gate.policy-change': { purpose: 'x', approvals: [['architect']] },
      }),
      /2 people at least/,
    ],
  ] as const)
    await t.test(what, async t => {
      const { status, json } = await change(document)
      t.equal(status, 422)
      t.match(json.error, { param: 'document', message })
    })
  t.match((await change('x'.repeat(60_001))).status, 422)
  t.equal(
    (await change(createChangedPolicy('two'), {}, demo.pro)).status,
    403,
    'a client does not ask',
  )
  const dry = await change(createChangedPolicy('two'), { dry_run: true })
  t.match(dry, { status: 200, json: { status: 'dry_run', number: 0 } })
  t.match(dry.json.difference, [{ what: 'version', before: '"2"', after: '"two"' }])
  const { requests } = (await call(demo.operator, 'GET', '/v1/gates/requests')).json
  t.strictSame(requests, [], 'nobody was asked')
})

t.test('an approval for the previous policy is void after another change', async t => {
  const { demo, change, decide, carry, show } = await scene(t)
  const late = await change(createChangedPolicy('late'), {}, demo.approver_a)
  await decide(late.json.request_id, 'approve', demo.approver_b)
  await decide(late.json.request_id, 'approve', demo.operator)
  t.match((await carry(createChangedPolicy('first'))).json, { status: 'changed' })
  const again = await change(createChangedPolicy('late'), {}, demo.approver_a)
  t.equal(again.status, 202, 'it has to be approved anew')
  t.not(again.json.request_id, late.json.request_id)
  t.match(await show(), { number: 1, version: 'first' })
})

t.test('requests whose gate has changed or was removed', async t => {
  const { demo, call, decide, carry } = await scene(t)
  const own = { purpose: 'own', approvals: [['reviewer']] }
  await carry(createChangedPolicy('two', { 'gate.own': own }))
  const ask = async (gate: string, n: number) => {
    const body = { plan: { n }, summary: 's' }
    return (await call(demo.operator, 'POST', `/v1/gates/${gate}/requests`, body)).json.id as string
  }
  const MINOR = 'gate.minor-release-approve'
  const [a, b] = [await ask('gate.own', 1), await ask('gate.own', 2)]
  const [c, d, e] = [await ask(MINOR, 1), await ask(MINOR, 2), await ask(MINOR, 3)]
  await decide(e, 'approve', demo.approver_a)
  const stricter = { purpose: 'stricter', approvals: [['reviewer'], ['architect']] }
  t.match((await carry(createChangedPolicy('three', { [MINOR]: stricter }))).json, {
    status: 'changed',
  })

  for (const [gate, id, reason] of [
    ['gate.own', b, /there is no gate\.own any more; withdraw/],
    [MINOR, d, /the rules of gate\.minor-release-approve have changed since; withdraw/],
  ] as const)
    await t.test(`${gate}: the request is blocked with the reason`, async t => {
      const view = await call(demo.operator, 'GET', `/v1/gates/requests/${id}`)
      t.match(view.json, { state: 'pending', status: 'blocked', reason, approvals_missing: 0 })
      const check = await call(demo.operator, 'GET', `/v1/gates/${gate}?request_id=${id}`)
      t.match(check.json, { status: 'blocked', reason })
      t.match(await decide(id, 'approve', demo.approver_a), {
        status: 409,
        json: { error: { message: reason } },
      })
    })
  await t.test('a void approval is no longer signed', async t => {
    const used = await decide(e, 'consume', demo.operator, { plan: { n: 3 } })
    t.match(used, { status: 403, json: { error: { message: /have changed since/ } } })
  })
  await t.test('a request can be rejected and withdrawn', async t => {
    t.match((await decide(a, 'reject', demo.operator)).status, 403, 'not by who asked')
    t.match((await decide(a, 'reject', demo.approver_a)).json, { state: 'blocked' })
    t.match((await decide(b, 'withdraw', demo.operator)).json, { state: 'withdrawn' })
    t.match((await decide(c, 'reject', demo.approver_b)).json, { state: 'blocked' })
    t.match((await decide(d, 'withdraw', demo.operator)).json, { state: 'withdrawn' })
    t.match((await decide(e, 'reject', demo.approver_a)).json, { state: 'blocked' })
  })
  await t.test('a new request follows the current rules', async t => {
    const id = await ask(MINOR, 4)
    t.match((await decide(id, 'approve', demo.approver_a)).json, { approvals_missing: 1 })
    const gates = (await call(demo.operator, 'GET', '/v1/gates')).json.gates
    t.match(
      gates.find(({ gate_id }: { gate_id: string }) => gate_id === MINOR),
      { purpose: 'stricter' },
    )
  })
})

t.test('plans and evidence have a maximum depth and size', async t => {
  const { demo, call } = await scene(t)
  const ask = (body: object) =>
    call(demo.operator, 'POST', '/v1/gates/gate.minor-release-approve/requests', {
      plan: {},
      summary: 's',
      ...body,
    })
  const nestArrays = (levels: number): unknown => (levels === 0 ? 1 : [nestArrays(levels - 1)])
  for (const [what, body, message] of [
    ['a plan that is too deep', { plan: nestArrays(25) }, /plan.* deeper than 24 levels/],
    ['evidence that is too deep', { evidence: nestArrays(25) }, /evidence.* deeper than 24/],
    ['a plan that is too large', { plan: 'x'.repeat(65_535) }, /plan.* larger than 65536 bytes/],
    ['evidence that is too large', { evidence: 'ä'.repeat(32_768) }, /evidence.* larger than/],
  ] as const)
    t.match(await ask(body), { status: 422, json: { error: { message } } }, what)
  t.equal((await ask({ plan: nestArrays(24), evidence: 'x'.repeat(65_534) })).status, 200)
})

t.test('evidence whose names differ by hidden characters is shown in full', async t => {
  const { demo, call } = await scene(t)
  const evidence = { 'a\u200b': 1, a: 2, 'a\\u{200b}': 3 }
  const body = { plan: {}, summary: 's', evidence }
  const { json } = await call(
    demo.operator,
    'POST',
    '/v1/gates/gate.minor-release-approve/requests',
    body,
  )
  t.equal(json.evidence_text, '{"a":2,"a\\\\u{200b}":3,"a\\u{200b}":1}')
})

t.test('a lone surrogate is refused anywhere in a call', async t => {
  const { demo, call } = await scene(t)
  const url = '/v1/gates/gate.minor-release-approve/requests'
  for (const [half, param] of [
    [{ summary: 'so \ud800' }, 'summary'],
    [{ evidence: { tickets: ['\udc00'] } }, 'evidence.tickets.0'],
    [{ plan: { '\ud800': 1 } }, 'plan.\ufffd'],
  ] as const) {
    const body = { plan: {}, summary: 's', ...half }
    const { status, json } = await call(demo.operator, 'POST', url, body)
    t.equal(status, 422)
    t.match(json.error, { code: 'invalid_request', param })
  }
})
