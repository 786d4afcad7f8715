import t, { type Test } from 'tap'
import { appendAudit } from '../../../../coordinator/kernel/audit/audit.ts'
import { BELIEVED_DAYS, openPurgeClock } from '../../../../coordinator/kernel/audit/purge-clock.ts'
import { keepRetention } from '../../../../coordinator/kernel/audit/retention.ts'
import { createNotLeaderError } from '../../../../coordinator/kernel/leader/leader.ts'
import { createSoleLeader } from '../../../../coordinator/kernel/leader/sole-leader.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { silent } from '../../../support/cell.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { temporaryStore } from '../store/temporary.ts'

const DAY_MS = 86_400_000
const YEAR_MS = 365 * DAY_MS
const START = Date.UTC(2026, 0, 1)

const append = (store: Store, at: number) =>
  store.ledger.sealed.write(trx =>
    appendAudit(trx, { actor: 'a', action: 'test.run', subject: 's', outcome: 'done', at }),
  )

const countTestRows = async ({ ledger }: Store): Promise<number> =>
  (await ledger.read.selectFrom('audit').select('seq').where('action', '=', 'test.run').execute())
    .length

/** The clocks of a machine, and the process on it that purges. */
const machineOf = (store: Store, leader = createSoleLeader(), retentionDays = 183) => {
  const clocks = { wall: START, monotonic: 0, trouble: undefined as string | undefined }
  const start = () => {
    const stop = new AbortController()
    let waits = Promise.withResolvers<void>()
    let go = (): void => {}
    const ended = keepRetention({
      ledger: store.ledger,
      signer: loneSigner(),
      retentionDays,
      logger: silent,
      guard: { checked: Promise.resolve(), trouble: () => clocks.trouble, suspect: () => {} },
      leader,
      now: () => clocks.wall,
      nowMs: () => clocks.monotonic,
      signal: stop.signal,
      wait: () =>
        new Promise(resolve => {
          go = resolve
          waits.resolve()
        }),
    })
    return {
      /** Resolves when a round is over. */
      waitForRound: () => waits.promise,
      nextRound: async () => {
        waits = Promise.withResolvers()
        go()
        await waits.promise
      },
      stop: async () => {
        stop.abort()
        go()
        await ended
      },
    }
  }
  /** Time as it goes by in truth. */
  const pass = (ms: number): void => {
    clocks.wall += ms
    clocks.monotonic += ms
  }
  return { clocks, start, pass }
}

const rig = async (t: Pick<Test, 'teardown'>) => {
  const store = await temporaryStore(t)
  await append(store, START - 10)
  return { store, ...machineOf(store) }
}

t.test('the retention of the audit', async t => {
  t.test('is kept to the day plus one week, and then expires', async t => {
    const { store, start, pass } = await rig(t)
    const running = start()
    await running.waitForRound()
    pass((183 + BELIEVED_DAYS) * DAY_MS - 20)
    await running.nextRound()
    t.equal(await countTestRows(store), 1)
    pass(DAY_MS)
    await running.nextRound()
    t.equal(await countTestRows(store), 0)
    await running.stop()
  })

  t.test('is checked once a day', async t => {
    const { store, start, pass } = await rig(t)
    await append(store, START + 210 * DAY_MS)
    const running = start()
    await running.waitForRound()
    pass(400 * DAY_MS)
    await running.nextRound()
    t.equal(await countTestRows(store), 1)
    pass(DAY_MS / 24)
    await running.nextRound()
    t.equal(await countTestRows(store), 1, 'not twice on one day')
    pass(DAY_MS)
    await running.nextRound()
    t.equal(await countTestRows(store), 0)
    await running.stop()
  })

  t.test('does not end through a clock set forward, across any restarts', async t => {
    const { store, start, clocks } = await rig(t)
    const first = start()
    await first.waitForRound()
    clocks.wall += 3 * YEAR_MS
    await first.nextRound()
    await first.stop()
    for (let n = 0; n < 5; n++) {
      const again = start()
      await again.waitForRound()
      await append(store, clocks.wall)
      await again.stop()
    }
    t.equal(await countTestRows(store), 6)
  })

  t.test('does not end through a wrong clock at the very first start', async t => {
    const { store, start, clocks } = await rig(t)
    clocks.wall += 3 * YEAR_MS
    const running = start()
    await running.waitForRound()
    t.equal(await countTestRows(store), 1)
    await running.stop()
  })

  t.test('waits while the clock is earlier than a decision at a gate', async t => {
    const { store, start, pass, clocks } = await rig(t)
    const running = start()
    await running.waitForRound()
    pass(300 * DAY_MS)
    const ahead = { name: 'gates', at: clocks.wall + DAY_MS }
    await store.ledger.sealed.write(trx => trx.insertInto('clocks').values(ahead).execute())
    await running.nextRound()
    t.equal(await countTestRows(store), 1)
    pass(2 * DAY_MS)
    await running.nextRound()
    t.equal(await countTestRows(store), 0)
    await running.stop()
  })

  t.test('waits while the audit is in doubt', async t => {
    const { store, start, pass, clocks } = await rig(t)
    clocks.trouble = 'row 3 was changed'
    const running = start()
    pass(300 * DAY_MS)
    await running.waitForRound()
    t.equal(await countTestRows(store), 1)
    await running.stop()
  })

  t.test('is left to the next leader by a process that was superseded', async t => {
    const store = await temporaryStore(t)
    await append(store, START - 10)
    let isSuperseded = false
    const leader = createSoleLeader()
    const requireLeader = async () => {
      if (isSuperseded) throw createNotLeaderError()
    }
    const { start, pass } = machineOf(store, { ...leader, requireLeader })
    const running = start()
    await running.waitForRound()
    pass(300 * DAY_MS)
    isSuperseded = true
    await running.nextRound()
    t.equal(await countTestRows(store), 1)
    isSuperseded = false
    await running.nextRound()
    t.equal(await countTestRows(store), 0)
    await running.stop()
  })

  t.test('waits for a request that has been open since then', async t => {
    const { store, start, pass } = await rig(t)
    await store.ledger.sealed.write(async trx => {
      await trx.insertInto('tenants').values({ id: 'a', name: 'a', created_at: 0 }).execute()
      await trx
        .insertInto('gate_requests')
        .values(openRequest(START - 11))
        .execute()
    })
    const running = start()
    await running.waitForRound()
    pass(300 * DAY_MS)
    await running.nextRound()
    t.equal(await countTestRows(store), 1)
    const over = { state: 'expired' } as const
    await store.ledger.sealed.write(trx => trx.updateTable('gate_requests').set(over).execute())
    pass(DAY_MS)
    await running.nextRound()
    t.equal(await countTestRows(store), 0)
    await running.stop()
  })
})

const openRequest = (created_at: number) => ({
  id: 'gate_1',
  gate_id: 'gate.x',
  tenant_id: 'a',
  requester_id: 'p',
  requester_key_id: 'k',
  subject: 's',
  summary: 's',
  plan_json: '{}',
  plan_hash: 'h',
  policy_hash: 'h',
  evidence_json: 'null',
  state: 'pending' as const,
  reason: null,
  created_at,
  expires_at: 9e15,
  approved_at: null,
  approval_expires_at: null,
  consumed_at: null,
})

t.test('the clock of the purge', async t => {
  for (const [what, pause, counted] of [
    ['a pause of six days counts', 6 * DAY_MS, 6 * DAY_MS],
    ['a pause of eight days does not', 8 * DAY_MS, 0],
    ['a clock that was set back does not turn it back', -DAY_MS, 0],
  ] as const)
    t.test(what, async t => {
      const store = await temporaryStore(t)
      let wall = START
      const open = () => openPurgeClock({ ledger: store.ledger, now: () => wall, nowMs: () => 0 })
      t.equal(await (await open()).tick(), START)
      wall += pause
      t.equal(await (await open()).tick(), START + counted)
    })

  t.test('two processes do not make it run at double speed', async t => {
    const store = await temporaryStore(t)
    let ms = 0
    const parts = { ledger: store.ledger, now: () => START + ms, nowMs: () => ms }
    const both = [await openPurgeClock(parts), await openPurgeClock(parts)]
    ms = DAY_MS
    for (const clock of both) t.equal(await clock.tick(), START + DAY_MS)
  })
})
