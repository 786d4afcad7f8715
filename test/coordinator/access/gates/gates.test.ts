import t, { type Test } from 'tap'
import { Gates, loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import { GateKeeper } from '../../../../coordinator/access/gates/gates.ts'
import { openSeats } from '../../../../coordinator/access/gates/seats.ts'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { createPerson } from '../../../../coordinator/access/people/people.ts'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import type { GatePerson } from '../../../../coordinator/kernel/declaration/caller.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { Approval, findApprovalFault } from '../../../../shared/wire/approval.ts'
import { runHistories } from '../../../support/gate-histories.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { auditRows, logger } from '../keys/fixtures.ts'

const MINUTE_MS = 60_000
const signer = createSigner(generatePrivateKey())

/** Two tenants, three people in the first with a key each, and gates over their store. */
const scene = async (t: Pick<Test, 'teardown'>, definitions = loadShippedGates()) => {
  const folder = await temporaryFolder(t)
  const clock = { now: Date.now() }
  const store = await temporaryStore(t, folder, { now: () => clock.now })
  const keys = new Keys({ store, logger, now: () => clock.now })
  t.teardown(() => keys.close())
  for (const id of ['one', 'two']) await createTenant(store.ledger, { id, name: id }, BY)
  const enter = async (id: string, roles: string[], options = {}): Promise<GatePerson> => {
    await createPerson(store.ledger, { id, tenantId: 'one', name: id }, BY).catch(() => {})
    const spec = { tenantId: 'one', personId: id, tier: 'enterprise' as const, roles, ...options }
    const { key } = await keys.create(spec as never, BY)
    return { personId: id, keyId: key.id, kind: key.kind, roles: key.roles }
  }
  const events: string[] = []
  const open = (own = store, now = () => clock.now): GateKeeper =>
    new GateKeeper({
      runtime: systemRuntime,
      logger,
      store: own,
      definitions,
      signer,
      addEvents: async (_trx, drafts) => {
        for (const { type } of drafts) events.push(type)
      },
      now,
    })
  return {
    folder,
    store,
    clock,
    keys,
    events,
    open,
    enter,
    gates: open(),
    builder: await enter('bea', ['builder']),
    architect: await enter('art', ['architect', 'operator_admin']),
    admin: await enter('ada', ['operator_admin']),
  }
}

const as = (person: GatePerson, tenantId = 'one') => ({ person, tenantId, by: BY })
const PLAN = { release: '2.0.0', sha: 'abc' }
const MAJOR = { gateId: 'gate.major-release-approve', summary: 'release 2.0.0', plan: PLAN }
const DEVICE = { gateId: 'gate.device-command-live', summary: 'move', plan: PLAN }

t.test('a gate that requires two approvers', async t => {
  const { gates, builder, architect, admin, events, store, clock } = await scene(t)
  clock.now += 1234
  const { id } = await gates.request(MAJOR, as(builder))

  await t.rejects(gates.approve(id, as({ ...builder, roles: ['architect'] })), {
    code: 'forbidden',
    message: /your own request/,
  })
  t.match(await gates.approve(id, as(architect)), { state: 'pending' })
  t.match((await gates.approve(id, as(architect))).votes.length, 1, 'again changes nothing')
  await t.rejects(gates.consume(id, as(builder), { plan: PLAN }), {
    message: /is pending/,
    reason: 'approval_pending',
    next: `shoal gates approve ${id}`,
  })
  t.match(await gates.approve(id, as(admin)), { state: 'approved' })
  await t.rejects(gates.consume(id, as(admin), { plan: PLAN }), { message: /only the requester/ })
  await t.rejects(gates.consume(id, as(builder), { plan: { ...PLAN, sha: 'other' } }), {
    message: /not the one that was approved/,
    reason: 'approval_other_plan',
  })
  t.match(await gates.consume(id, as(builder), { plan: { sha: 'abc', release: '2.0.0' } }), {
    state: 'consumed',
  })
  await t.rejects(gates.consume(id, as(builder), { plan: PLAN }), { message: /is consumed/ })
  t.strictSame(events, [
    'shoal.gate.requested',
    'shoal.gate.voted',
    'shoal.gate.approved',
    'shoal.gate.consumed',
  ])
  const rows = (await auditRows(store)).filter(({ action }) => action.startsWith('gate.'))
  t.ok(
    rows.every(({ at }) => at === clock.now),
    'refused uses have their time too',
  )
  const {
    requests: [decided],
  } = await gates.listNewest(10, { tenantId: 'one' })
  t.match(decided, { id, state: 'consumed', requesterId: builder.personId, consumedAt: clock.now })
  t.strictSame(
    decided?.votes.map(({ personId }) => personId).toSorted(),
    [architect.personId, admin.personId].toSorted(),
  )
  t.match(await gates.listNewest(10, { tenantId: 'two' }), { requests: [] })
  t.strictSame(
    rows.map(({ action, outcome }) => `${action} ${outcome}`),
    [
      'gate.request done',
      'gate.approve refused',
      'gate.approve done',
      'gate.consumed refused',
      'gate.approve done',
      'gate.consumed refused',
      'gate.consumed refused',
      'gate.consumed done',
      'gate.consumed refused',
    ],
  )
})

t.test('the eligibility to decide', async t => {
  const { gates, builder, architect, admin, enter, store } = await scene(t)
  const second = await enter('bea', ['operator_admin'])
  const agent = await enter('bot', ['operator_admin'], { kind: 'ai_agent' })
  const pipeline = await enter('ci', ['operator_admin'], { kind: 'ci_pipeline' })
  const { id } = await gates.request(DEVICE, as(builder))
  for (const [who, person] of [
    ['another key of who asked', second],
    ['an agent', agent],
    ['a pipeline', pipeline],
    ['somebody without the role', { ...admin, personId: 'zoe', roles: ['legal'] }],
  ] as const)
    await t.test(`${who} may neither approve nor reject`, async t => {
      await t.rejects(gates.approve(id, as(person)), { code: 'forbidden' })
      await t.rejects(gates.reject(id, as(person)), { code: 'forbidden' })
    })
  await t.test('each refused vote is audited with the person and the reason', async t => {
    const rows = (await auditRows(store)).filter(({ outcome }) => outcome === 'refused')
    t.strictSame(
      rows.map(({ action, subject }) => [action, subject]),
      Array.from({ length: 4 }, () => [
        ['gate.approve', id],
        ['gate.reject', id],
      ]).flat(),
    )
    t.match(rows[0]?.details, {
      state: 'pending',
      person: second.personId,
      why: /your own request/,
    })
  })
  await t.test('another tenant does not even learn that the request exists', async t => {
    const gone = { code: 'not_found', message: `no request ${id}` }
    await t.rejects(gates.approve(id, as(admin, 'two')), gone)
    await t.rejects(gates.get(id, { tenantId: 'two' }), gone)
    await t.rejects(gates.get('gate_nothing', { tenantId: 'two' }), { code: 'not_found' })
    t.strictSame(await gates.list({ limit: 10 }, { tenantId: 'two' }), [])
  })
  await t.test('one rejection blocks, even after an approval', async t => {
    await gates.approve(id, as(admin))
    t.match(await gates.reject(id, as(architect), { reason: 'too fast' }), {
      state: 'blocked',
      reason: 'rejected: too fast',
    })
    await t.rejects(gates.consume(id, as(builder), { plan: PLAN }), {
      message: `request ${id} is blocked (rejected: too fast)`,
    })
    await t.rejects(gates.reject(id, as(admin)), { code: 'conflict' })
  })
})

t.test('one person with two keys fills one seat', async t => {
  const { gates, builder, architect, enter } = await scene(t)
  const other = await enter('art', ['operator_admin'])
  const { id } = await gates.request(MAJOR, as(builder))
  await gates.approve(id, as(architect))
  t.match(await gates.approve(id, as(other)), { state: 'pending' })
})

t.test('time', async t => {
  for (const [minutes, state] of [
    [14.99, 'consumed'],
    [15, 'expired'],
  ] as const)
    await t.test(`an approval for a device used after ${minutes} minutes is ${state}`, async t => {
      const { gates, builder, admin, clock } = await scene(t)
      const { id } = await gates.request(DEVICE, as(builder))
      await gates.approve(id, as(admin))
      clock.now += minutes * MINUTE_MS
      const used = gates.consume(id, as(builder), { plan: PLAN })
      if (state === 'consumed') t.match(await used, { state })
      else await t.rejects(used, { message: /is expired/ })
    })

  await t.test('an undecided request expires after a day and is recorded', async t => {
    const { gates, builder, admin, clock, events } = await scene(t)
    const { id } = await gates.request(DEVICE, as(builder))
    clock.now += 24 * 60 * MINUTE_MS
    await t.rejects(gates.approve(id, as(admin)), { code: 'conflict', message: /is expired/ })
    await gates.sweep()
    await gates.sweep()
    t.match(await gates.get(id, 'all'), { state: 'expired' })
    t.strictSame(events, ['shoal.gate.requested', 'shoal.gate.expired'])
  })

  await t.test('a clock that was set back does not revive an approval', async t => {
    const { gates, builder, admin, clock, open } = await scene(t)
    const { id } = await gates.request(DEVICE, as(builder))
    await gates.approve(id, as(admin))
    clock.now += 20 * MINUTE_MS
    await gates.request(MAJOR, as(builder))
    clock.now -= 10 * MINUTE_MS
    const again = open()
    await t.rejects(again.consume(id, as(builder), { plan: PLAN }), {
      message: /expired \(the clock was set back/,
    })
    await t.rejects(again.approve(id, as(admin)), { message: /is expired/ })
    await t.rejects(again.approval(id, 'all'), { message: /is expired/ })
  })

  await t.test('a coordinator whose own clock lags decides nothing and ends nothing', async t => {
    const { gates, builder, admin, clock, open, store } = await scene(t)
    const { id } = await gates.request(DEVICE, as(builder))
    await gates.approve(id, as(admin))
    const lagging = open(store, () => clock.now - MINUTE_MS)
    await lagging.sweep()
    await t.rejects(lagging.consume(id, as(builder), { plan: PLAN }), {
      code: 'conflict',
      message: /60 s before the last decision/,
    })
    t.match(await gates.consume(id, as(builder), { plan: PLAN }), { state: 'consumed' })
    const rows = await auditRows(store)
    t.notOk(rows.some(({ action }) => action === 'gate.clock_set_back'))
  })

  await t.test('a decision dated years ahead blocks nothing', async t => {
    const { gates, builder, architect, admin, clock, events, store } = await scene(t)
    const waits = await gates.request(MAJOR, as(builder))
    const early = { ...DEVICE, subject: 'early' }
    const approvedBefore = (await gates.request(early, as(builder))).id
    await gates.approve(approvedBefore, as(admin))
    clock.now += 3 * 365 * 24 * 60 * MINUTE_MS
    const { id } = await gates.request(DEVICE, as(builder))
    await gates.approve(id, as(admin))
    const later = await gates.request({ ...DEVICE, subject: 'later' }, as(builder))
    clock.now -= 3 * 365 * 24 * 60 * MINUTE_MS
    events.length = 0
    await gates.sweep()
    for (const ended of [id, approvedBefore, later.id])
      t.match(await gates.get(ended, 'all'), { state: 'expired', reason: /the clock/ })
    t.same(events, Array(4).fill('shoal.gate.expired'))
    const rows = await auditRows(store)
    t.equal(rows.filter(({ action }) => action === 'gate.clock_set_back').length, 1)
    t.match(await gates.get(waits.id, 'all'), { state: 'expired' }, 'its day was over')

    const next = await gates.request(DEVICE, as(builder))
    t.match(await gates.approve(next.id, as(admin)), {
      state: 'approved',
      approvalExpiresAt: clock.now + 15 * MINUTE_MS,
    })
    t.match(await gates.consume(next.id, as(builder), { plan: PLAN }), { state: 'consumed' })

    clock.now += 60_000
    const young = await gates.request(MAJOR, as(builder))
    clock.now += 60_000
    await gates.request({ ...MAJOR, plan: 1 }, as(admin))
    clock.now -= 50_000
    t.match(
      await gates.approve(young.id, as(architect)),
      { state: 'pending' },
      'it goes on waiting',
    )
  })
})

t.test('changes since the approval', async t => {
  await t.test('a changed gate rule voids the approval', async t => {
    const { gates, builder, admin, store, clock } = await scene(t)
    const { id } = await gates.request(DEVICE, as(builder))
    await gates.approve(id, as(admin))
    const stricter = Gates.parse({
      'gate.device-command-live': {
        purpose: 'two people now',
        approvals: [['architect'], ['operator_admin']],
      },
    })
    const changed = new GateKeeper({
      logger,
      runtime: systemRuntime,
      store,
      signer,
      definitions: stricter,
      now: () => clock.now,
      addEvents: async () => {},
    })
    await t.rejects(changed.consume(id, as(builder), { plan: PLAN }), { message: /rules/ })
  })

  await t.test('a revoked approver key voids the approval', async t => {
    const { gates, builder, admin, keys } = await scene(t)
    const { id } = await gates.request(DEVICE, as(builder))
    await gates.approve(id, as(admin))
    await keys.revoke(admin.keyId, 'all', BY)
    await t.rejects(gates.consume(id, as(builder), { plan: PLAN }), { message: /no longer/ })
  })

  await t.test('a failed precondition of the plan voids the approval', async t => {
    const { gates, builder, admin } = await scene(t)
    const { id } = await gates.request(DEVICE, as(builder))
    await gates.approve(id, as(admin))
    const precondition = () => {
      throw new Error('battery is at 4 %')
    }
    await t.rejects(gates.consume(id, as(builder), { plan: PLAN, precondition }), /battery/)
    t.match(await gates.get(id, 'all'), { state: 'approved' }, 'it was not used')
  })
})

t.test('a new plan for a subject supersedes the earlier request of the same person', async t => {
  const { gates, builder, admin } = await scene(t)
  const about = { ...DEVICE, subject: 'robot-1' }
  const { id } = await gates.request(about, as(builder))
  t.equal((await gates.request(about, as(builder))).id, id, 'the same plan is the same request')
  await gates.approve(id, as(admin))
  const next = await gates.request({ ...about, plan: { speed: 2 } }, as(builder))
  t.match(await gates.get(id, 'all'), { state: 'superseded', reason: `superseded by ${next.id}` })
  const other = await gates.request({ ...about, plan: { speed: 3 } }, as(admin))
  t.match(await gates.get(next.id, 'all'), { state: 'pending' }, 'not by another person')
  await t.rejects(gates.withdraw(other.id, as(builder)), { code: 'forbidden' })
  t.match(await gates.withdraw(other.id, as(admin)), { state: 'withdrawn' })
})

t.test('a request that cannot be read is never used, and holds up no other', async t => {
  const { gates, builder, admin, clock, open, store } = await scene(t)
  const damaged: string[] = []
  for (const subject of ['plan', 'vote', 'late']) {
    const { id } = await gates.request({ ...DEVICE, subject }, as(builder))
    await gates.approve(id, as(admin))
    damaged.push(id)
  }
  const [plan = '', vote = '', late = ''] = damaged
  const sound = await gates.request({ ...DEVICE, subject: 'sound' }, as(builder))
  await store.ledger.free.write(async trx => {
    const set = { plan_json: '{' }
    await trx.updateTable('gate_requests').set(set).where('id', 'in', [plan, late]).execute()
    const veto = { decision: 'veto' as 'reject' }
    await trx.updateTable('gate_votes').set(veto).where('request_id', '=', vote).execute()
  })
  for (const id of damaged)
    await t.rejects(gates.consume(id, as(builder), { plan: PLAN }), { code: 'internal' })
  t.strictSame(
    (await gates.list({ limit: 2 }, 'all')).map(({ id }) => id),
    [sound.id],
  )
  t.match(await gates.listNewest(9, 'all'), {
    unreadable: [vote],
  })
  await t.rejects(gates.findNewest({ subject: 'vote' }, 'all'), { code: 'internal' })

  const next = await gates.request({ ...DEVICE, subject: 'plan' }, as(builder))
  t.not(next.id, plan, 'the same plan is requested again')
  clock.now += 60 * MINUTE_MS
  await gates.request({ ...DEVICE, subject: 'ahead' }, as(builder))
  clock.now -= 30 * MINUTE_MS
  const again = open()
  await again.sweep()
  t.match(await again.get(next.id, 'all'), { state: 'pending' })
  const rows = await store.ledger.read.selectFrom('gate_requests').select(['id', 'state']).execute()
  const states = new Map(rows.map(({ id, state }) => [id, state]))
  t.strictSame(
    damaged.map(id => states.get(id)),
    ['superseded', 'expired', 'expired'],
  )
})

t.test('one of a hundred concurrent uses of an approval over two coordinators wins', async t => {
  const { gates, builder, admin, open, folder } = await scene(t)
  const second = open(await temporaryStore(t, folder))
  const { id } = await gates.request(DEVICE, as(builder))
  await gates.approve(id, as(admin))
  const uses = Array.from({ length: 100 }, (_, n) =>
    (n % 2 === 0 ? gates : second).consume(id, as(builder), { plan: PLAN }),
  )
  const outcomes = await Promise.allSettled(uses)
  t.equal(outcomes.filter(({ status }) => status === 'fulfilled').length, 1)
})

t.test('each fault of a portable approval is detected', async t => {
  const { gates, builder, admin, clock } = await scene(t)
  const { id, planHash } = await gates.request(DEVICE, as(builder))
  await t.rejects(gates.approval(id, 'all'), { code: 'conflict' })
  await gates.approve(id, as(admin))
  const approval = await gates.approval(id, 'all')
  const { gateId } = DEVICE
  const facts = { publicKey: signer.publicKey, gateId, planHash, now: clock.now }
  t.equal(findApprovalFault(approval, facts), undefined)
  for (const [what, change, seen] of [
    ['another plan', {}, { ...facts, planHash: '0'.repeat(64) }],
    [
      'another coordinator',
      {},
      { ...facts, publicKey: createSigner(generatePrivateKey()).publicKey },
    ],
    ['what another gate guards', {}, { ...facts, gateId: 'gate.swarm-formation-live' }],
    ['a later time', {}, { ...facts, now: approval.expires_at }],
    ['a longer life', { expires_at: approval.expires_at + 1 }, facts],
    ['another approver', { approver_ids: ['zoe'] }, facts],
    ['another gate', { gate_id: 'gate.minor-release-approve' }, facts],
  ] as const)
    t.ok(findApprovalFault({ ...approval, ...change } as typeof approval, seen), `not for ${what}`)
})

t.test('surplus approvals are refused, but never a required one', async t => {
  const { gates, builder, admin, enter } = await scene(t)
  const { id } = await gates.request(MAJOR, as(builder))
  const names = Array.from({ length: 20 }, (_, n) => `arch_${n}`)
  const architects = await Promise.all(names.map(name => enter(name, ['architect'])))
  const answers = await Promise.allSettled(architects.map(one => gates.approve(id, as(one))))
  const refused = answers.filter(({ status }) => status === 'rejected')
  t.equal(refused.length, 6)
  t.match(refused[0], { reason: { code: 'conflict', message: /others are needed/ } })
  t.match(await gates.approve(id, as(admin)), { state: 'approved' })
  t.match(await gates.consume(id, as(builder), { plan: PLAN }), { state: 'consumed' })
  const approval = Approval.parse(await gates.approval(id, { tenantId: 'one' }))
  t.equal(approval.approver_ids.length, 15)
  t.throws(() =>
    Gates.parse({ [`gate.${'a'.repeat(124)}`]: { purpose: 'p', approvals: [['legal']] } }),
  )
})

t.test('plans that cannot be bound are refused', async t => {
  const { gates, builder } = await scene(t)
  const inexact = JSON.parse('{"ids":[12345678901234567891]}')
  for (const plan of [Number.NaN, { a: '\ud800' }, { big: 'x'.repeat(70_000) }, inexact, 2 ** 53])
    await t.rejects(gates.request({ ...DEVICE, plan }, as(builder)), {
      code: 'invalid_request',
      param: 'plan',
    })
  await t.rejects(gates.request({ ...DEVICE, gateId: 'gate.none' }, as(builder)), {
    code: 'not_found',
  })
  await t.rejects(gates.request({ ...DEVICE, gateId: '__proto__' }, as(builder)), {
    code: 'not_found',
  })
})

t.test('one person cannot flood the others with requests', async t => {
  const { gates, builder, admin } = await scene(t)
  const ask = (n: number) => gates.request({ ...DEVICE, plan: { n } }, as(builder))
  for (let n = 0; n < 100; n++) await ask(n)
  await t.rejects(ask(100), { code: 'conflict', message: /100 requests of yours wait/ })
  t.match(await ask(5), { state: 'pending' }, 'the same again is no new one')
  t.match(await gates.request(DEVICE, as(admin)), { state: 'pending' }, 'others may ask')
})

t.test('one person cannot fill the disk with requests', async t => {
  const { gates, builder, admin, clock } = await scene(t)
  const ask = (n: number) => gates.request({ ...DEVICE, subject: 'same', plan: { n } }, as(builder))
  for (let n = 0; n < 1000; n++) await ask(n)
  await t.rejects(ask(1000), { code: 'conflict', message: /1000 requests/ })
  t.match(await gates.request(DEVICE, as(admin)), { state: 'pending' }, 'others may ask')
  clock.now += 86_400_001
  t.match(await ask(1000), { state: 'pending' }, 'a day later it goes on')
})

t.test('open seats state the minimum of missing votes', t => {
  const seats = [['architect'], ['operator_admin']]
  const both = { personId: 'a', roles: ['architect', 'operator_admin'] }
  t.equal(openSeats(seats, []), 2)
  t.equal(openSeats(seats, [both]), 1)
  t.equal(openSeats(seats, [both, { personId: 'b', roles: ['architect'] }]), 0)
  t.equal(openSeats(seats, [both, { personId: 'c', roles: ['legal'] }]), 1)
  t.end()
})

t.test('the shipped gates are those of the specification and of shoal', t => {
  t.equal(Object.keys(loadShippedGates()).length, 14)
  t.throws(() => Gates.parse({ 'gate.x': { purpose: 'x', approvals: [] } }))
  t.throws(() => Gates.parse({ nothing: { purpose: 'x', approvals: [['legal']] } }))
  t.end()
})

t.test('random histories match an oracle', async t => {
  const store = await temporaryStore(t)
  const { used, refused } = await runHistories(store, { count: 60, seed: 7 })
  t.ok(used > 0 && refused > 0, `${used} used, ${refused} refused`)
})
