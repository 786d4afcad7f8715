import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { KnownCoordinators } from '../../../daemon/coordinators/known-coordinators.ts'
import { autoRunService } from '../../../daemon/discovery/auto-run.ts'
import { AutoRunBudget } from '../../../daemon/discovery/auto-run-budget.ts'
import { DiscoveryConfig } from '../../../daemon/discovery/config.ts'
import { FindingsSpool } from '../../../daemon/uplink/findings-spool.ts'
import { Nudge } from '../../../daemon/uplink/nudge.ts'
import { Uplink } from '../../../daemon/uplink/uplink.ts'
import { type DiscoveryModule, isScan } from '../../../discovery/module.ts'
import { NotPossibleHere, type ScanRun } from '../../../discovery/scan-run.ts'
import { TokenBucket } from '../../../shared/token-bucket.ts'
import { FindingsBody } from '../../../shared/wire/findings.ts'
import { helpersWith, testModule } from '../../support/test-module.ts'
import { logger, newHealth, newIdentity, noWait, standIn, waitUntilTrue } from '../stand-in.ts'

type AutoRunParts = Parameters<typeof autoRunService>[0]

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
    budget: createBudget(() => timeMs),
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

const createBudget = (nowMs: () => number, limits: object = {}) =>
  new AutoRunBudget({
    config: DiscoveryConfig.parse({ auto_run: limits }),
    now: () => 1_800_000_000_000,
    nowMs,
  })

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
  const bodies: FindingsBody[] = []
  coordinator.state.accept = (topic, { body }) => {
    if (!topic.endsWith('/findings')) return true
    bodies.push(FindingsBody.parse(body))
    if (bodies.length % 3 === 0) coordinator.cut()
    return true
  }
  const keepFindings = (body: FindingsBody) => uplink.keepFindings(body)
  const { whenDone } = schedule(t, things(5000), 2, { keepFindings })
  await whenDone
  // an end that was sent again counts once, and each run has its own
  const listEnded = () => bodies.flatMap(({ run_id, end }) => (end === undefined ? [] : [run_id]))
  await waitUntilTrue(() => new Set(listEnded()).size === 2)

  const parts = new Map(bodies.map(body => [`${body.run_id} ${body.part}`, body]))
  const rows = [...parts.values()].flatMap(body => body.rows.map(row => row.size_bytes))
  const wanted = Array.from({ length: 5000 }, (_, n) => n)
  t.strictSame(rows, [...wanted, ...wanted])
  t.ok(bodies.length > 40, 'some messages were sent again')
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
    bucket: new TokenBucket({ amount: 1e9, perMs: 1000, burst: 1e9 }, () => 0),
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

t.test('runs stop at the hourly budget of the cell and go on in its next hour', async t => {
  let timeMs = 0
  const { kept, whenDone } = schedule(t, things(10), 4, {
    budget: createBudget(() => timeMs, { max_findings_per_hour: 25 }),
    nowMs: () => timeMs,
    wait: async () => {
      timeMs += 5 * SECOND_MS
      await new Promise(resolve => setImmediate(resolve))
    },
  })
  await whenDone
  t.strictSame(
    kept.map(({ rows, end }) => [rows.length, end?.outcome, end?.use?.findings]),
    [
      [10, 'complete', 10],
      [10, 'complete', 20],
      [5, 'failed', 25],
      [10, 'complete', 10],
    ],
  )
  t.match(kept[2]?.end?.reason, /hourly budget of findings/)
  t.ok(timeMs >= 3600 * SECOND_MS)
})

t.test('active modules wait when their time in the hour is used up, passive ones do not', t => {
  let nowMs = 0
  const budget = createBudget(() => nowMs, { max_active_seconds_per_hour: 60 })
  const [active, passive] = [withAutoRun(testModule, false), withAutoRun(testModule, true)]
  if (!isScan(active) || !isScan(passive)) throw new TypeError('no scan')
  budget.charge(passive, 90 * SECOND_MS)
  t.ok(budget.allows(active))
  budget.charge(active, 60 * SECOND_MS)
  t.notOk(budget.allows(active))
  t.ok(budget.allows(passive))
  t.match(budget.use(), { active_seconds: 60, ends_at: 1_800_003_600_000 })
  nowMs = 3600 * SECOND_MS
  t.ok(budget.allows(active))
  t.end()
})

t.test('a budget follows its settings, and a run counts in the hour in which it ends', t => {
  let nowMs = 0
  const config = DiscoveryConfig.parse({ auto_run: { max_active_seconds_per_hour: 60 } })
  const budget = new AutoRunBudget({ config, now: () => 0, nowMs: () => nowMs })
  const active = withAutoRun(testModule, false)
  if (!isScan(active)) throw new TypeError('no scan')
  t.ok(budget.allows(active))
  nowMs = 3601 * SECOND_MS
  budget.charge(active, 90 * SECOND_MS)
  t.match(budget.use(), { active_seconds: 90 })
  t.notOk(budget.allows(active))
  config.auto_run = { max_active_seconds_per_hour: 120, max_findings_per_hour: 1 }
  t.ok(budget.allows(active))
  t.ok(budget.takeFinding())
  t.notOk(budget.takeFinding())
  t.end()
})

const withAutoRun = (module: DiscoveryModule, isPassive: boolean): DiscoveryModule =>
  isScan(module) ? { ...module, autoRun: { everySeconds: 60, isPassive } } : module

const withInput = (module: DiscoveryModule): DiscoveryModule =>
  ({
    ...module,
    input: { safeParse: () => ({ success: false }) },
  }) as unknown as DiscoveryModule
