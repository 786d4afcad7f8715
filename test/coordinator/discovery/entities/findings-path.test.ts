import t, { type Test } from 'tap'
import * as z from 'zod'
import { EntityQuery } from '../../../../coordinator/discovery/entities/entity-query.ts'
import { EntityRecorder } from '../../../../coordinator/discovery/entities/entity-recorder.ts'
import { FindingsInbox } from '../../../../coordinator/discovery/entities/findings-inbox.ts'
import { AutoRunUses } from '../../../../coordinator/discovery/modules/auto-run-uses.ts'
import { CellRates } from '../../../../coordinator/discovery/modules/cell-rates.ts'
import { ModuleObserver } from '../../../../coordinator/discovery/modules/module-observer.ts'
import { ModuleResults } from '../../../../coordinator/discovery/modules/module-results.ts'
import { createInbox } from '../../../../coordinator/fleet/broker/inbox.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { StoreFault } from '../../../../coordinator/kernel/store/faults.ts'
import type { Ledger } from '../../../../coordinator/kernel/store/store.ts'
import { createDiscoveryMetrics } from '../../../../coordinator/surfaces/metrics/discovery-metrics.ts'
import { KnownCoordinators } from '../../../../daemon/coordinators/known-coordinators.ts'
import { FindingsParts } from '../../../../daemon/discovery/findings-parts.ts'
import { Nudge } from '../../../../daemon/uplink/nudge.ts'
import { Uplink } from '../../../../daemon/uplink/uplink.ts'
import type { DiscoveryModule } from '../../../../discovery/module.ts'
import { newId } from '../../../../shared/ids.ts'
import type { FindingsBody } from '../../../../shared/wire/findings.ts'
import { logger, newHealth, noWait, waitUntilTrue } from '../../../daemon/stand-in.ts'
import { config } from '../../../support/app.ts'
import { busRig, makeEmbeddedBus } from '../../../support/bus.ts'
import { TEST_PSEUDONYMS } from '../../../support/pseudonyms.ts'
import { testModule } from '../../../support/test-module.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

/** A row of which nothing can be made. */
const POISON = -1

/** Each row of the test module is one host. */
const hosts: DiscoveryModule = {
  ...testModule,
  row: z.strictObject({ name: z.string(), size_bytes: z.int() }),
  observe: ({ size_bytes }: Record<string, unknown>) => {
    if (size_bytes === POISON) throw new TypeError('no host')
    const mac = Number(size_bytes)
      .toString(16)
      .padStart(6, '0')
      .replace(/(..)(?=.)/g, '$1:')
    return [{ keys: [{ kind: 'mac', value: `b8:27:eb:${mac}` }], facts: {} }]
  },
} as DiscoveryModule

/** A coordinator whose store fails when the test says so, before a commit or right after it. */
const openCoordinator = async (t: Test) => {
  const store = await temporaryStore(t)
  const faults = { before: false, after: false }
  const fail = (): never => {
    throw new StoreFault('full', 'the disk is full', undefined)
  }
  const sealed = {
    write: async (...args: Parameters<Ledger['sealed']['write']>) => {
      if (faults.before) fail()
      const result = await store.ledger.sealed.write(...args)
      if (faults.after) fail()
      return result
    },
  } as Ledger['sealed']
  const metrics = { discovery: createDiscoveryMetrics() }
  const sink = new EntityRecorder({
    ledger: { sealed },
    events: { addWithin: async () => {} },
    observer: new ModuleObserver([hosts], TEST_PSEUDONYMS),
    rates: new CellRates(100_000),
    pseudonyms: TEST_PSEUDONYMS,
    metrics,
    now: Date.now,
  })
  const budgets = new Budgets(config().limits)
  const results = new ModuleResults(store.records)
  const uses = new AutoRunUses(Date.now)
  const pseudonyms = TEST_PSEUDONYMS
  const inbox = new FindingsInbox({
    ...{
      modules: [hosts],
      results,
      sink,
      pseudonyms,
      budgets,
      uses,
      metrics,
      now: Date.now,
      nowMs: () => performance.now(),
      logger,
    },
  })
  t.teardown(() => inbox[Symbol.asyncDispose]())
  const messages = metrics.discovery.list.find(({ name }) => name.includes('messages'))
  return {
    inbox,
    faults,
    budgets,
    uses,
    query: new EntityQuery(store.ledger.read, Date.now, { warn: () => {} }),
    countMessages: (outcome: string): number =>
      messages?.read().find(({ labels }) => labels.outcome === outcome)?.value ?? 0,
  }
}

/** A cell on a real connection, which keeps findings on its disk. */
const openCell = async (t: Test, inbox: FindingsInbox) => {
  const receive = createInbox({
    fleet: { birth: () => {}, state: () => {}, sample: () => {} },
    logger,
    onBirth: () => {},
    findings: inbox,
  })
  const { bus, port } = await busRig(t, makeEmbeddedBus, { receive })
  const url = `http://127.0.0.1:${port}`
  const identity = { cell_id: newId('cell'), credential: 'good', coordinator_url: url, epoch: 1 }
  const folder = await temporaryFolder(t)
  const stop = new AbortController()
  const health = newHealth()
  const uplink = new Uplink({
    identity,
    coordinators: new KnownCoordinators({ url, hasPinnedAuthority: false }),
    connectTimeoutSeconds: 10,
    spool: { folder: `${folder}/samples`, maxBytes: 2 ** 20, drainBytesPerSecond: 1e9 },
    findings: { folder: `${folder}/findings`, maxBytes: 16 * 2 ** 20, confirmMs: 100 },
    health,
    nudge: new Nudge(),
    logger,
    wait: noWait(),
    random: () => 0,
  })
  await uplink.start({ signal: stop.signal, fail: error => t.fail(error.message) })
  t.teardown(async () => {
    stop.abort()
    await waitUntilTrue(() => health.view()['uplink connection']?.state === 'stopped')
  })
  return { uplink, cut: () => bus.disconnect(identity.cell_id) }
}

/** Hands a complete run that sees hosts 0 to `count` to the cell; returns the number of messages. */
const runOnce = async (uplink: Uplink, count: number, startedAt: number): Promise<number> => {
  let messages = 0
  const facts = { module: hosts.id, inputHash: 'h', startedAt }
  const findings = new FindingsParts(facts, async body => {
    messages++
    await uplink.keepFindings(body)
  })
  for (let n = 0; n < count; n++) await findings.add({ name: `host ${n}`, size_bytes: n })
  await findings.end({ outcome: 'complete', reason: null })
  return messages
}

t.test('findings that the store refuses are stored once when it takes them again', async t => {
  const { inbox, faults, query, countMessages } = await openCoordinator(t)
  const { uplink, cut } = await openCell(t, inbox)
  const waitForRuns = (count: number) =>
    waitUntil(
      `run ${count} is stored`,
      async () => (await query.listScanners(1))[0]?.runs === count,
    )
  faults.before = true
  await runOnce(uplink, 2000, Date.now() - 2000)
  await waitUntilTrue(() => countMessages('unconfirmed') >= 3)
  t.strictSame(await query.countBy('is_present'), {})
  faults.before = false
  await waitUntilTrue(() => countMessages('stored') >= 5)
  faults.after = true
  const before = countMessages('unconfirmed')
  await waitUntilTrue(() => countMessages('unconfirmed') > before)
  faults.after = false
  await waitForRuns(1)
  await runOnce(uplink, 2000, Date.now() - 1000)
  cut()
  await waitForRuns(2)
  await uplink.keepFindings(lastPart(Date.now()))
  await waitForRuns(3)
  t.strictSame(await query.countBy('is_present'), { 1: 2000 })
  t.strictSame(await query.countDeltas(0), { appeared: 2000 })
  t.match(await query.listScanners(5), [{ runs: 3 }])
  t.ok(countMessages('repeated') > 0, 'a message whose commit was in doubt came again')
})

/** A run of one message. */
const lastPart = (started_at: number): FindingsBody => ({
  ...{ module: hosts.id, run_id: newId('run'), part: 0, started_at, input_hash: 'h', rows: [] },
  end: { outcome: 'complete', reason: null },
})

t.test(
  'findings that can never be stored hold up those behind them for a few attempts',
  async t => {
    const { inbox, query, countMessages } = await openCoordinator(t)
    const { uplink } = await openCell(t, inbox)
    await uplink.keepFindings({ ...lastPart(1), rows: [{ name: 'host', size_bytes: POISON }] })
    await runOnce(uplink, 1, Date.now())
    await waitUntil(
      'the next run is stored',
      async () => (await query.listScanners(1)).length === 1,
    )
    t.strictSame(await query.countBy('is_present'), { 1: 1 })
    t.equal(countMessages('dropped'), 1)
    t.equal(countMessages('unconfirmed'), 2)
  },
)

t.test('the use of hourly budgets is summed over the cells whose hour goes on', async t => {
  const { inbox, uses } = await openCoordinator(t)
  const report = (cellId: string, findings: number, endsInMs: number) =>
    inbox.onFindings(cellId, {
      ...lastPart(1),
      end: {
        ...{ outcome: 'complete', reason: null },
        use: {
          ...{ findings, max_findings: 10, active_seconds: 2, max_active_seconds: 9 },
          ends_at: Date.now() + endsInMs,
        },
      },
    })
  await report('cell_a', 3, 60_000)
  await report('cell_a', 4, 60_000)
  await report('cell_b', 10, 60_000)
  await report('cell_c', 10, -1)
  t.strictSame(uses.summarise(), { cells: 2, cellsAtLimit: 1, findings: 14, activeSeconds: 4 })
})

t.test('findings that come too fast or find no room are not taken', async t => {
  const { inbox, budgets, countMessages } = await openCoordinator(t)
  const small = { ...lastPart(1), run_id: 'r' }
  const sent = Array.from({ length: 1201 }, () => inbox.onFindings('a', small))
  const settled = await Promise.allSettled(sent)
  t.equal(settled.filter(({ status }) => status === 'rejected').length, 1)
  t.equal(countMessages('stored'), 1)
  t.equal(countMessages('repeated'), 1199)
  const large = { ...small, rows: [{ name: 'x'.repeat(250_000) }] }
  const many = Array.from({ length: 100 }, () => inbox.onFindings('b', large))
  t.ok(budgets.waitingFindings.readUse('cell', 'b') <= budgets.waitingFindings.limits.per.cell)
  const reasons = (await Promise.allSettled(many)).flatMap(one =>
    one.status === 'rejected' ? [one.reason.message] : [],
  )
  t.match(reasons, Array(reasons.length).fill(/too many findings wait/))
  t.ok(reasons.length > 0)
  t.equal(budgets.waitingFindings.used, 0)
  await inbox.onFindings('c', { ...small, module: 'other' })
  t.equal(countMessages('dropped'), 1, 'a message that can never be stored is not sent again')
})
