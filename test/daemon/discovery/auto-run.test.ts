import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { Budgets } from '../../../coordinator/budgets/budgets.ts'
import { FindingsInbox } from '../../../coordinator/discovery/findings-inbox.ts'
import type { RecordedRows } from '../../../coordinator/discovery/findings-sink.ts'
import { ModuleResults } from '../../../coordinator/discovery/module-results.ts'
import { KnownCoordinators } from '../../../daemon/coordinators/known-coordinators.ts'
import { type AutoRunParts, autoRunService } from '../../../daemon/discovery/auto-run.ts'
import { FindingsSpool } from '../../../daemon/uplink/findings-spool.ts'
import { Nudge } from '../../../daemon/uplink/nudge.ts'
import { TokenBucket } from '../../../daemon/uplink/token-bucket.ts'
import { Uplink } from '../../../daemon/uplink/uplink.ts'
import { type DiscoveryModule, isScan } from '../../../discovery/module.ts'
import { NotPossibleHere, type ScanRun } from '../../../discovery/scan-run.ts'
import { FindingsBody } from '../../../shared/wire/findings.ts'
import { temporaryStore } from '../../coordinator/store/temporary.ts'
import { config } from '../../support/app.ts'
import { helpersWith, testModule } from '../../support/test-module.ts'
import { logger, newHealth, newIdentity, noWait, standIn, waitUntilTrue } from '../stand-in.ts'

const SECOND_MS = 1000

/** A schedule whose time passes with each look, until the runs that are wanted have ended. */
const schedule = (
  t: Test,
  run: ScanRun<never>,
  runs: number,
  given: Partial<AutoRunParts> = {},
) => {
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const kept: FindingsBody[] = []
  let timeMs = 0
  let ended = 0
  const done = Promise.withResolvers<void>()
  const { keepFindings } = given
  const service = autoRunService({
    helpers: helpersWith(run),
    config: { enabled: true, modules: {} },
    scope: { isAutoRun: true, read: () => ({ entries: [] }) },
    modules: async () => [testModule],
    find: async () => testModule,
    now: () => 1_800_000_000_000,
    nowMs: () => timeMs,
    random: () => 0.5,
    logger,
    wait: async () => {
      timeMs += 5 * SECOND_MS
      await new Promise(resolve => setImmediate(resolve))
    },
    ...given,
    keepFindings: async body => {
      kept.push(structuredClone(body))
      await keepFindings?.(body)
      if (body.end !== undefined && ++ended === runs) {
        stop.abort()
        done.resolve()
      }
    },
  })
  const begun = service.start({ signal: stop.signal, fail: done.reject })
  return { kept, whenDone: begun.then(() => done.promise), stop, passed: () => timeMs }
}

const things = (count: number): ScanRun<never> =>
  function* () {
    for (let n = 0; n < count; n++) yield { name: `thing ${n}`, size_bytes: n }
  }

const openUplink = async (t: Test, url: string, folder: string) => {
  const stop = new AbortController()
  const health = newHealth()
  const uplink = new Uplink({
    identity: newIdentity(url),
    coordinators: new KnownCoordinators({ url, hasPinnedAuthority: false }),
    connectTimeoutSeconds: 10,
    spool: { folder: join(folder, 'samples'), maxBytes: 2 ** 20, drainBytesPerSecond: 1e9 },
    findings: { folder: join(folder, 'findings'), maxBytes: 16 * 2 ** 20 },
    health,
    nudge: new Nudge(),
    logger,
    wait: noWait(),
    random: () => 0,
  })
  await uplink.start({ signal: stop.signal, fail: error => t.fail(error.message) })
  const state = () => health.view()['uplink connection']?.state
  const close = async () => {
    stop.abort()
    await waitUntilTrue(() => state() === 'stopped')
  }
  return { uplink, state, close }
}

t.test('ten thousand findings arrive in order, although the link is cut in between', async t => {
  const coordinator = await standIn()
  const folder = mkdtempSync(join(tmpdir(), 'shoal-findings-'))
  const { uplink, close } = await openUplink(t, coordinator.url, folder)
  t.teardown(async () => {
    await close()
    await coordinator.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  let seen = 0
  coordinator.state.accept = topic => {
    if (topic.endsWith('/findings') && ++seen % 9 === 0) coordinator.cut()
    return true
  }
  const keepFindings = (body: FindingsBody) => uplink.keepFindings(body)
  const { whenDone } = schedule(t, things(5000), 2, { keepFindings })
  await whenDone
  const listBodies = () =>
    coordinator.heard.flatMap(({ topic, message }) =>
      topic === 'findings' ? [FindingsBody.parse(message.body)] : [],
    )
  await waitUntilTrue(() => listBodies().filter(({ end }) => end !== undefined).length >= 2)

  const recorded = new Map<string, RecordedRows>()
  let failures = 3
  const store = await temporaryStore(t)
  const results = new ModuleResults(store.records)
  const inbox = new FindingsInbox({
    modules: [testModule],
    results,
    sink: {
      record: async found => {
        if (failures-- > 0) throw new Error('the store is away')
        recorded.set(`${found.runId} ${found.rows[0]?.size_bytes}`, found)
      },
    },
    budgets: new Budgets(config().limits),
    now: Date.now,
    nowMs: () => 0,
    wait: noWait(),
    logger,
  })
  for (const body of listBodies()) inbox.onFindings('cell_a', body)
  await waitUntilTrue(() => [...recorded.values()].filter(({ outcome }) => outcome).length === 2)
  await inbox[Symbol.asyncDispose]()
  const rows = [...recorded.values()].flatMap(found => found.rows.map(row => row.size_bytes))
  const wanted = Array.from({ length: 5000 }, (_, n) => n)
  t.strictSame(rows, [...wanted, ...wanted])
  t.ok(seen > 40, 'some messages were sent again')
  const [last] = await results.readLast('test-scan', 'cell_a')
  t.match(last, { outcome: 'complete' })
})

t.test('many kept messages come no faster than the coordinator takes them', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-findings-'))
  const spool = await FindingsSpool.open({ folder, maxBytes: 2 ** 20, logger })
  const stop = new AbortController()
  t.teardown(async () => {
    await spool.close()
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  })
  const ids = { run_id: 'r', started_at: 1, input_hash: 'h' }
  const count = 700
  for (let part = 0; part < count; part++)
    await spool.keep({ module: 'test-scan', ...ids, part, rows: [] })
  let [sent, waitedMs] = [0, 0]
  const publish = async () => {
    if (++sent === count) stop.abort()
  }
  await spool.drain(publish, {
    bucket: new TokenBucket(1e9),
    wait: async milliseconds => {
      waitedMs += milliseconds
    },
    signal: stop.signal,
  })
  t.ok(waitedMs >= (count - 1) * 50, `${waitedMs} ms for ${sent} messages`)
})

t.test('the findings of a run that was not possible here say why', async t => {
  const { kept, whenDone } = schedule(
    t,
    () => {
      throw new NotPossibleHere('no adapter')
    },
    1,
  )
  await whenDone
  t.match(kept, [{ part: 0, rows: [], end: { outcome: 'unavailable', reason: 'no adapter' } }])
})

t.test(
  'runs are apart by the interval of their module, moved by a tenth of it at most',
  async t => {
    const { kept, whenDone, passed } = schedule(t, things(1), 4)
    await whenDone
    t.equal(kept.length, 4)
    t.equal(new Set(kept.map(({ run_id }) => run_id)).size, 4)
    t.equal(new Set(kept.map(({ input_hash }) => input_hash)).size, 1)
    const seconds = passed() / SECOND_MS
    t.ok(seconds >= 30 + 3 * 54 && seconds <= 60 + 3 * 66 + 4 * 5, `${seconds} s`)
  },
)

t.test('nothing runs while it is off, and no active module without a scope', async t => {
  const cases: [string, Partial<AutoRunParts>][] = [
    ['off', { scope: { isAutoRun: false, read: () => ({ entries: [] }) } }],
    ['without a scope', { modules: async () => [withAutoRun(testModule, false)] }],
    ['with input that is needed', { modules: async () => [withInput(testModule)] }],
  ]
  for (const [title, given] of cases) {
    const run = () => t.fail(title) as never
    const { passed, stop } = schedule(t, run, 1, given)
    await waitUntilTrue(() => passed() > 300 * SECOND_MS)
    stop.abort()
  }
  const scope = { isAutoRun: true, read: () => ({ entries: [{ target: '192.0.2.1' }] }) }
  const modules = async () => [withAutoRun(testModule, false)]
  const { whenDone } = schedule(t, things(1), 1, { scope, modules })
  await whenDone
})

t.test('a cell that sends findings too fast, or of an unknown module, is refused', async t => {
  const budgets = new Budgets(config().limits)
  const never = new Promise<void>(() => {})
  const inbox = new FindingsInbox({
    modules: [testModule],
    results: { keepPart: () => never },
    sink: undefined,
    budgets,
    now: Date.now,
    nowMs: () => 0,
    wait: noWait(),
    logger,
  })
  const body: FindingsBody = {
    ...{ module: 'test-scan', run_id: 'r', part: 0, started_at: 1, input_hash: 'h' },
    rows: [],
  }
  t.throws(() => inbox.onFindings('a', { ...body, module: 'other' }), /no module other/)
  for (let n = 0; n < 601; n++) inbox.onFindings('a', body)
  t.throws(() => inbox.onFindings('a', body), /too fast/)
  const large = { ...body, rows: [{ name: 'x'.repeat(250_000) }] }
  const fill = () => {
    for (let n = 0; n < 100; n++) inbox.onFindings('b', large)
  }
  t.throws(fill, /too many findings wait/)
  t.ok(budgets.waitingFindings.usedBy('cell', 'b') <= budgets.waitingFindings.limits.per.cell)
})

const withAutoRun = (module: DiscoveryModule, isPassive: boolean): DiscoveryModule =>
  isScan(module) ? { ...module, autoRun: { everySeconds: 60, isPassive } } : module

const withInput = (module: DiscoveryModule): DiscoveryModule =>
  ({
    ...module,
    input: { safeParse: () => ({ success: false }) },
  }) as unknown as DiscoveryModule
