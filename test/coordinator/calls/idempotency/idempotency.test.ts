import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import { Idempotency } from '../../../../coordinator/calls/idempotency/idempotency.ts'
import { createSealing } from '../../../../coordinator/kernel/signing/sealing.ts'
import { noteCreated } from '../../../../coordinator/kernel/store/created-in.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { soleReplica } from '../../../support/replicas.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'

const scene = async (t: Test) => {
  const store = await temporaryStore(t)
  const clock = { now: 1_800_000_000_000 }
  const key = randomBytes(32)
  const sealing = createSealing(() => [key])
  const { ledger } = store
  const replicas = soleReplica()
  const parts = { ledger, sealing, logger: silent, now: () => clock.now }
  const idempotency = new Idempotency({ ...parts, runtime: systemRuntime, replicas })
  let runs = 0
  /** A call that makes a tenant, and so changes something. */
  const change = async () => {
    runs++
    await createTenant(ledger, { id: `t${runs}`, name: 'x' }, BY)
    return { n: runs, secret: 'shown once' }
  }
  const call = { scope: 'key', callKey: 'k', fingerprint: 'f', timeoutSeconds: 30 }
  const once = (run: () => Promise<unknown> = change, more: object = {}, kept = true) =>
    idempotency.once({ ...call, ...more }, { run, isKept: () => kept })
  /** The same call at another coordinator. */
  const onceElsewhere = () =>
    new Idempotency({ ...parts, runtime: systemRuntime, replicas: soleReplica() }).once(call, {
      run: change,
      isKept: () => true,
    })
  return {
    ledger,
    clock,
    replicas,
    idempotency,
    call,
    once,
    onceElsewhere,
    change,
    runs: () => runs,
  }
}

const IN_PROGRESS = { code: 'conflict', message: /is being answered/ }

t.test('the claim of a coordinator is free once it is dead', async t => {
  const { ledger, replicas, once, onceElsewhere, change } = await scene(t)
  const setUntil = (until: number) =>
    ledger.free.write(trx => trx.updateTable('replicas').set({ until }).execute())
  await ledger.free.write(trx => {
    const times = { started_at: 0, until: Number.MAX_SAFE_INTEGER }
    const row = {
      id: replicas.id,
      address: null,
      version: '1',
      unconnected_json: '[]',
      has_cells: 0,
      ...times,
    }
    return trx.insertInto('replicas').values(row).execute()
  })
  const [beforeChange, afterChange] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = async () => {
    await beforeChange.promise
    await change()
    await afterChange.promise
  }
  const first = once(slow)
  await t.rejects(onceElsewhere(), IN_PROGRESS, 'it lives')
  await setUntil(0)
  await t.rejects(once(), IN_PROGRESS, 'it knows of itself that it lives')
  const second = await Promise.allSettled([onceElsewhere(), onceElsewhere()])
  t.equal(second.filter(({ status }) => status === 'fulfilled').length, 1)
  beforeChange.resolve()
  await t.rejects(first, { message: /its repetition has taken its place/ })
  const tenants = await ledger.read.selectFrom('tenants').select('id').execute()
  t.equal(tenants.length, 1, 'the first has changed nothing')

  await t.test('unless the call has changed something', async t => {
    const { once, onceElsewhere, change } = await scene(t)
    const changed = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const first = once(async () => {
      await change()
      changed.resolve()
      await held.promise
      return 'done'
    })
    await changed.promise
    await t.rejects(onceElsewhere(), IN_PROGRESS)
    held.resolve()
    await first
    t.strictSame(await onceElsewhere(), { answer: 'done', replayed: true })
  })
})

t.test('a repeated call returns the first answer, which is stored encrypted', async t => {
  const { once, runs, ledger } = await scene(t)
  const answer = { n: 1, secret: 'shown once' }
  t.strictSame(await once(), { answer, replayed: false })
  t.strictSame(await once(), { answer, replayed: true })
  t.equal(runs(), 1)
  const rows = await ledger.read.selectFrom('idempotent_calls').selectAll().execute()
  t.notMatch(JSON.stringify(rows), /shown once/)
})

t.test('another input with the same key is refused; another caller has separate keys', async t => {
  const { once, runs } = await scene(t)
  await once()
  await t.rejects(once(undefined, { fingerprint: 'g' }), { code: 'idempotency_key_reuse' })
  t.match(await once(undefined, { scope: 'other' }), { replayed: false })
  t.match(await once(undefined, { callKey: 'l' }), { replayed: false })
  t.equal(runs(), 3)
})

t.test('one of many simultaneous calls runs, and the others are asked to retry', async t => {
  const { once, runs, change } = await scene(t)
  const [begun, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const slow = async () => {
    begun.resolve()
    await held.promise
    return change()
  }
  const first = once(slow)
  await begun.promise
  const others = await Promise.allSettled(Array.from({ length: 20 }, () => once(slow)))
  for (const other of others)
    t.match(other, { status: 'rejected', reason: { code: 'conflict', retryAfterSeconds: 1 } })
  held.resolve()
  await first
  t.match(await once(slow), { replayed: true })
  t.equal(runs(), 1)
})

t.test('a key is new again after 24 hours', async t => {
  const { once, runs, clock } = await scene(t)
  await once()
  clock.now += 24 * 3_600_000 - 1
  t.match(await once(), { replayed: true })
  clock.now += 1
  t.match(await once(), { replayed: false })
  t.equal(runs(), 2)
})

t.test('a refusal without changes can be repeated; one with changes is an answer', async t => {
  const { once, change, runs } = await scene(t)
  let refused = 0
  const refuse = async () => {
    refused++
    throw new ShoalError('conflict', 'no', { param: 'x' })
  }
  await t.rejects(once(refuse), { code: 'conflict' })
  await t.rejects(once(refuse), { code: 'conflict' })
  t.equal(refused, 2)
  const changeAndRefuse = async () => {
    await change()
    return refuse()
  }
  await t.rejects(once(changeAndRefuse), { code: 'conflict', message: 'no', param: 'x' })
  await t.rejects(once(changeAndRefuse), { code: 'conflict', message: 'no', param: 'x' })
  t.equal(runs(), 1)
})

t.test('an answer that must not be stored is computed again', async t => {
  const { once, runs } = await scene(t)
  await once(undefined, {}, false)
  t.match(await once(), { replayed: false })
  t.equal(runs(), 2)
})

t.test('a call that failed after a change is not repeated', async t => {
  const { once, change, runs } = await scene(t)
  const fail = async () => {
    await change()
    throw new RangeError('a bug')
  }
  await t.rejects(once(fail), RangeError)
  await t.rejects(once(fail), { code: 'conflict', message: /its answer was lost/ })
  t.equal(runs(), 1)
})

t.test('a call of a dead process is resolved from its recorded changes', async t => {
  const { once, change, runs, clock, ledger } = await scene(t)
  // neither ever comes back
  void once(() => new Promise(() => {}))
  void once(
    async () => {
      await change()
      return new Promise(() => {})
    },
    { callKey: 'changed' },
  )
  for (;;) {
    const rows = await ledger.read.selectFrom('idempotent_calls').select('state').execute()
    if (rows.length === 2 && rows.some(({ state }) => state === 'changed')) break
    await new Promise(resolve => setImmediate(resolve))
  }
  await t.rejects(once(), { code: 'conflict', retryAfterSeconds: 1 })
  clock.now += 120_000
  t.match(await once(), { replayed: false }, 'nothing had happened')
  await t.rejects(once(undefined, { callKey: 'changed' }), { message: /answer was lost/ })
  t.equal(runs(), 2)
})

t.test('an interrupted call is answered only from what it created itself', async t => {
  const { ledger, idempotency, call, clock } = await scene(t)
  const command = newId('cmd', clock.now)
  const once = (run: () => Promise<unknown>) =>
    idempotency.once(call, { run, isKept: () => true, recall: async created => created.join() })
  const isCreated = Promise.withResolvers<void>()
  void once(async () => {
    await ledger.free.write(async trx => noteCreated(trx, command))
    isCreated.resolve()
    // it never comes back
    return new Promise(() => {})
  })
  await isCreated.promise
  clock.now += 120_000
  const again = () => once(() => Promise.reject(new Error('it ran again')))
  t.strictSame(await again(), { answer: command, replayed: true })
  // an older coordinator claims the expired key, and knows nothing of this column
  clock.now += 24 * 3600 * 1000
  const claimed = { claim: 'older', created_at: clock.now - 1, lease_until: clock.now }
  await ledger.free.write(trx => trx.updateTable('idempotent_calls').set(claimed).execute())
  await t.rejects(again(), { message: /answer was lost/ })
})

t.test('what an interrupted call created at the same time is recalled together', async t => {
  const { ledger, idempotency, call, clock } = await scene(t)
  const commands = [newId('cmd', clock.now), newId('cmd', clock.now), newId('cmd', clock.now)]
  const once = (run: () => Promise<unknown>) =>
    idempotency.once(call, { run, isKept: () => true, recall: async created => created })
  const areCreated = Promise.withResolvers<void>()
  void once(async () => {
    const writes = commands.map(id => ledger.sealed.write(async trx => noteCreated(trx, id)))
    await Promise.all([...writes, ledger.sealed.write(async () => {})])
    areCreated.resolve()
    // it never comes back
    return new Promise(() => {})
  })
  await areCreated.promise
  clock.now += 120_000
  const again = await once(() => Promise.reject(new Error('it ran again')))
  t.strictSame(again, { answer: commands, replayed: true })
})

t.test('a long call is not considered lost while it runs', async t => {
  const { once, clock } = await scene(t)
  const long = { timeoutSeconds: 300 }
  const held = Promise.withResolvers<unknown>()
  const begun = Promise.withResolvers<void>()
  const first = once(() => {
    begun.resolve()
    return held.promise
  }, long)
  await begun.promise
  clock.now += 299_000
  await t.rejects(once(undefined, long), { code: 'conflict', retryAfterSeconds: 1 })
  held.resolve('done')
  t.match(await first, { answer: 'done' })
  t.match(await once(undefined, long), { answer: 'done', replayed: true })
})

t.test('a call that a repetition has replaced changes nothing more', async t => {
  const { once, clock, change, ledger } = await scene(t)
  const held = Promise.withResolvers<void>()
  const begun = Promise.withResolvers<void>()
  const first = once(async () => {
    begun.resolve()
    await held.promise
    return change()
  })
  await begun.promise
  clock.now += 121_000
  t.match(await once(), { answer: { n: 1 }, replayed: false })
  held.resolve()
  await t.rejects(first, { code: 'conflict' })
  const made = await ledger.read
    .selectFrom('tenants')
    .select('id')
    .where('id', 'like', 't_')
    .execute()
  t.strictSame(made, [{ id: 't1' }])
})
