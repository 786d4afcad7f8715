import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { acceptPolicy } from '../../../../coordinator/access/gates/accept-policy.ts'
import { Gates, loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import {
  openPolicies,
  readConfiguredPolicy,
} from '../../../../coordinator/access/gates/policies.ts'
import { type Policy, policyOf, readPolicy } from '../../../../coordinator/access/gates/policy.ts'
import {
  policyDifference,
  summarizeChanges,
} from '../../../../coordinator/access/gates/policy-difference.ts'
import { newestPolicy, putPolicy } from '../../../../coordinator/access/gates/policy-store.ts'
import { parseProposedPolicy } from '../../../../coordinator/access/gates/proposed-policy.ts'
import { verifyAudit } from '../../../../coordinator/kernel/audit/verify.ts'
import type { Events } from '../../../../coordinator/kernel/events/bus.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { auditRows } from '../keys/fixtures.ts'

const gates = loadShippedGates()
const shipped = readConfiguredPolicy(undefined, gates)
const rule = { id: 'r', actions: ['a.*'], decision: 'allowed', reason: 'may' }
const documentOf = (version: string, parts: object = {}) => ({
  version,
  rules: [rule],
  tests: [{ action_type: 'a.b', expect: 'allowed' }],
  ...parts,
})
const createPolicy = (version: string): Policy => policyOf(documentOf(version), gates)

/** A ledger, and coordinators over it with the configured policy that each is given. */
const scene = async (t: Pick<Test, 'teardown'>) => {
  const folder = await temporaryFolder(t)
  const store = await temporaryStore(t, folder)
  const said: { level: string; reason: unknown }[] = []
  const events: string[] = []
  const addEvents: Events['addWithin'] = async (_trx, drafts) => {
    for (const { type, subject } of drafts) events.push(`${type} ${subject}`)
  }
  const say = (level: string) => (facts: object) =>
    void said.push({ level, reason: (facts as { reason?: string }).reason })
  const logger = { info: say('info'), warn: say('warn'), error: say('error') } as never
  const open = async (configured = shipped, own = store) => {
    const policies = await openPolicies({
      runtime: systemRuntime,
      store: own,
      configured,
      gates,
      logger,
    })
    t.teardown(policies.close)
    return policies
  }
  const put = (policy: Policy, replaces: { number: number; hash: string }) =>
    store.ledger.sealed.write(trx =>
      putPolicy(
        trx,
        {
          ...policy,
          replaces,
          configuredHash: shipped.hash,
          changedBy: 'ada',
          changedAt: 1,
          reason: 'because',
        },
        BY,
        addEvents,
      ),
    )
  return { folder, store, said, events, addEvents, open, put }
}

t.test('the configured policy applies until another replaces it, which then stays', async t => {
  const { open, put, store, events, folder } = await scene(t)
  const policies = await open()
  t.match(policies.current(), { number: 0, source: 'shipped' })
  const other = await open(shipped, await temporaryStore(t, folder))
  await put(createPolicy('2'), policies.current())
  await policies.reload()
  t.match(policies.current(), { number: 1, version: '2', source: 'accepted' })
  t.equal(policies.current().decide('a.b', { kind: 'person', roles: [] }).decision, 'allowed')
  await t.rejects(
    store.ledger.sealed.write(other.requireCurrent),
    { code: 'conflict' },
    'not by old rules',
  )
  await other.reload()
  t.equal(other.current().number, 1, 'for another coordinator too')
  await t.resolves(store.ledger.sealed.write(other.requireCurrent))
  t.strictSame(events, ['shoal.policy.changed policy-1'], 'reported once, with the change')
  t.match((await open()).current(), { number: 1, version: '2' }, 'after a restart')
  await t.rejects(put(createPolicy('3'), shipped as never), { code: 'conflict' })
  await t.rejects(put(createPolicy('3'), { number: 1, hash: shipped.hash }), { code: 'conflict' })
  const rows = (await auditRows(store)).filter(({ action }) => action === 'policy.change')
  t.match(rows, [{ subject: 'policy-1', outcome: 'done' }])
  t.match(await verifyAudit(store.ledger), { ok: true })
  await t.rejects(
    store.ledger.sealed.write(trx => trx.updateTable('policies').set({ version: '9' }).execute()),
    /append-only/,
    'what held is never rewritten',
  )
})

t.test('a file that differs from the active policy is neither applied nor ignored', async t => {
  const { open, put, said } = await scene(t)
  const first = { ...createPolicy('file'), file: 'p.yaml' }
  const before = await open(first)
  t.match(before.current(), { number: 0, source: 'file', version: 'file' })
  t.equal(before.drift(), undefined)
  await put(createPolicy('2'), before.current())
  for (const [what, configured, reason] of [
    ['the file from before', first, /p\.yaml is not policy 1/],
    ['another file', { ...createPolicy('new'), file: 'p.yaml' }, /p\.yaml is not policy 1/],
    ['the file with what holds', { ...createPolicy('2'), file: 'p.yaml' }, undefined],
    ['the shipped one that was replaced', shipped, undefined],
    [
      'a newer shipped one',
      { ...createPolicy('newer'), file: undefined },
      /shipped policy has changed/,
    ],
  ] as const)
    await t.test(what, async t => {
      said.length = 0
      const policies = await open(configured)
      t.equal(policies.current().version, '2', 'what was approved holds')
      t.match(policies.drift() ?? 'none', reason ?? 'none')
      t.match(said, [{ level: reason === undefined ? 'info' : 'warn' }])
      t.match(said[0]?.reason ?? 'none', reason ?? 'none')
    })
})

t.test("the machine's operator can activate the configured policy with a reason", async t => {
  const { open, put, store, addEvents } = await scene(t)
  await t.rejects(acceptPolicy(store.ledger, shipped, 'why', BY, addEvents), { code: 'conflict' })
  await put(createPolicy('2'), (await open()).current())
  await t.rejects(acceptPolicy(store.ledger, shipped, ' ', BY, addEvents), {
    code: 'invalid_request',
  })
  await acceptPolicy(store.ledger, shipped, 'nobody is left', BY, addEvents)
  t.match((await open()).current(), { number: 2, hash: shipped.hash, source: 'accepted' })
  const rows = (await auditRows(store)).filter(({ action }) => action === 'policy.change')
  t.match(rows.at(-1)?.details_json, /nobody is left/)
})

t.test('a policy that this configuration cannot support neither starts nor takes over', async t => {
  const { open, put, store, addEvents } = await scene(t)
  const own = documentOf('2', {
    rules: [{ ...rule, decision: 'needs_gate', gate: 'gate.own' }],
    tests: [{ action_type: 'a.b', expect: 'needs_gate' }],
  })
  const more = Gates.parse({ 'gate.own': { purpose: 'own', approvals: [['legal']] } })
  const policies = await open()
  await put(policyOf(own, more), policies.current())
  await t.rejects(policies.reload(), { code: 'config_invalid', message: /no gate\.own/ })
  t.equal(policies.current().number, 0, 'what held goes on to hold')
  await t.rejects(open(), { code: 'config_invalid', message: /policy accept/ })
  await acceptPolicy(store.ledger, shipped, 'the gate is gone', BY, addEvents)
  t.match((await open()).current(), { number: 2 })
  t.match(await newestPolicy(store.ledger.read), { number: 2 })
})

t.test('no policy weakens the gate for policy changes', async t => {
  const POLICY = 'gate.policy-change'
  const two = [['architect'], ['operator_admin']]
  const gate = (parts: object) => ({
    gates: { [POLICY]: { purpose: 'x', approvals: two, approval_minutes: 15, ...parts } },
  })
  const everything = { rules: [{ ...rule, actions: ['*'] }] }
  const elsewhere = { ...rule, decision: 'needs_gate', gate: 'gate.minor-release-approve' }
  for (const [what, parts, fault] of [
    ['one person', gate({ approvals: [['architect', 'operator_admin']] }), /2 people at least/],
    ['another role', gate({ approvals: [['architect'], ['builder']] }), /alone/],
    ['a role beside', gate({ approvals: [['architect', 'legal'], ['architect']] }), /alone/],
    ['a longer life', gate({ approval_minutes: 16 }), /15 minutes/],
    ['everything allowed', everything, /policy\.change must ask/],
    [
      'a policy allowed to one role',
      { rules: [rule, { ...rule, id: 's', actions: ['policy.*'], roles: ['legal'] }] },
      /policy\.change must ask/,
    ],
    [
      'a policy allowed when something is said',
      { rules: [rule, { ...rule, id: 's', actions: ['policy.change'], when: { urgent: true } }] },
      /policy\.change must ask/,
    ],
    [
      'another gate in front of gates',
      { rules: [rule, { ...elsewhere, id: 's', actions: ['gate.change'] }] },
      /gate\.change must ask/,
    ],
  ] as const)
    t.match(
      (readPolicy(documentOf('2', parts), gates) as { faults: string[] }).faults[0],
      fault,
      what,
    )
  for (const [what, parts] of [
    ['more people', gate({ approvals: [...two, ['architect']] })],
    ['the same role twice', gate({ approvals: [['operator_admin'], ['operator_admin']] })],
    ['a shorter life', gate({ approval_minutes: 1 })],
  ] as const)
    t.ok('policy' in readPolicy(documentOf('2', parts), gates), what)
  const weak = { ...gates, [POLICY]: { ...gates[POLICY], approvals: [['architect']] } }
  t.match(
    readPolicy(documentOf('2'), weak as never),
    { faults: [/2 people/] },
    'nor a configuration',
  )
})

t.test('a text that is not a policy is refused with the fault', async t => {
  const failing = [
    { action_type: 'a.b', expect: 'denied' },
    { action_type: 'x', expect: 'denied' },
    { action_type: 'y', expect: 'allowed' },
  ]
  for (const [what, text, message] of [
    [
      'rows that fail, and no other',
      stringify(documentOf('2', { tests: failing })),
      /^document: test 1: a\.b by person \(client\) is allowed, not denied; test 3: y .* is denied, not allowed$/,
    ],
    ['no YAML', 'a: [', /document: it is not valid YAML/],
    ['a name twice', 'version: a\nversion: b', /unique/],
    ['depth', '['.repeat(59_000), /document: /],
    ['what is no JSON', 'version: .nan', /document: /],
    ['a set', 'version: !!set {a, b}', /document: /],
    ['more than a plan may be', `a: &a [${'x,'.repeat(9000)}]\nb: [*a,*a,*a]`, /larger than/],
    [
      'a condition that would not be looked at',
      JSON.stringify(documentOf('2', { rules: [{ ...rule, when: { x: 1 } }] })).replace(
        '"x"',
        '"__proto__"',
      ),
      /__proto__/,
    ],
    ['nothing', '# nothing', /document: /],
    ['aliases that blow up', `a: &a [x]\nb: [${'*a,'.repeat(200)}]`, /document: /],
    ['half a pair', '{"version":"\\ud800","rules":[],"tests":[]}', /document: /],
    [
      'two rules of one name',
      stringify(documentOf('2', { rules: [rule, rule] })),
      /r is declared twice/,
    ],
  ] as const)
    await t.rejects(
      parseProposedPolicy(text, gates),
      { code: 'invalid_request', param: 'document', message },
      what,
    )
  const half = JSON.stringify(documentOf('\ud800'))
  await t.rejects(parseProposedPolicy(half, gates), { code: 'invalid_request' })
})

t.test('a policy text built to be slow blocks nothing else and is refused', async t => {
  const slow = `{${Array.from({ length: 12_000 }, (_, at) => at.toString(36)).join(',')}}`
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  t.teardown(() => clearInterval(timer))
  await t.rejects(parseProposedPolicy(slow, gates), { code: 'invalid_request', param: 'document' })
  t.ok(turns > 0, 'the event loop turned meanwhile')
  const large = `# ${'x'.repeat(300_000)}`
  await t.rejects(parseProposedPolicy(large, gates), {
    message: /document: it is larger than 262144/,
  })
  const good = await parseProposedPolicy(JSON.stringify(documentOf('3')), gates)
  t.equal(good.version, '3', 'the next one is read')
})

t.test('a moved rule is named, and not the rules that shifted because of it', t => {
  const createDocument = (ids: string) =>
    documentOf('1', { rules: [...ids].map(id => ({ ...rule, id })) })
  for (const [before, after, moved] of [
    ['abcdef', 'bcdefa', 'rule a moved from place 1 to 6'],
    ['abcdef', 'abfcde', 'rule f moved from place 6 to 3'],
    ['abcd', 'xabd', '1 rule removed, 1 rule added'],
    ['abcd', 'dcba', 3],
    ['abcdef', 'fedcba', '5 rules moved'],
  ] as const) {
    const summary = summarizeChanges(
      policyDifference(createDocument(before), createDocument(after)),
    )
    if (typeof moved === 'number') t.equal(summary.split(' moved ').length - 1, moved)
    else t.equal(summary, moved, `${before} to ${after}`)
  }
  t.end()
})

t.test('the difference names added, removed and changed rules, and the order', async t => {
  const second = { ...rule, id: 's' }
  const before = documentOf('1', { rules: [rule, second] })
  const after = documentOf('2', {
    rules: [second, { ...rule, reason: 'other' }, { ...rule, id: 't' }],
    tests: [{ action_type: 'a.c', expect: 'allowed' }],
    gates: { 'gate.own': { purpose: 'own', approvals: [['legal']] } },
  })
  const difference = policyDifference(before, after)
  t.strictSame(
    difference.map(({ what, id, change }) => `${what} ${id} ${change}`),
    [
      ...['version version changed', 'rule r changed', 'rule t added'],
      ...['order s changed', 'order t added'],
      ...['gate gate.own added', 'test a.b removed', 'test a.c added'],
    ],
  )
  t.match(difference[1], { before: /"may"/, after: /"other"/ })
  t.match(difference[3], {
    before: '{"behind":"r","place":2}',
    after: '{"behind":null,"place":1}',
  })
  t.match(difference[4], { before: null, after: '{"behind":"r","place":3}' })
  t.equal(
    summarizeChanges(difference),
    '1 rule changed, 1 rule added, 1 gate added, 1 test removed, 1 test added, rule s moved from place 2 to 1',
  )
  t.strictSame(policyDifference(before, structuredClone(before)), [])
  t.equal(summarizeChanges([]), 'nothing changes')
  t.equal(
    summarizeChanges(policyDifference(before, { ...before, version: '9' })),
    'only the version differs',
  )
})
