import t, { type Test } from 'tap'
import type { RecordedRows } from '../../../../coordinator/discovery/entities/findings-sink.ts'
import type { CellResult } from '../../../../coordinator/discovery/modules/module-result.ts'
import { ModuleResults } from '../../../../coordinator/discovery/modules/module-results.ts'
import { ModuleRuns } from '../../../../coordinator/discovery/modules/module-runs.ts'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { Budgets } from '../../../../coordinator/kernel/budgets/budgets.ts'
import { createDiscoveryMetrics } from '../../../../coordinator/surfaces/metrics/discovery-metrics.ts'
import { createModuleQuestion } from '../../../../daemon/discovery/module-question.ts'
import { withQuestions } from '../../../../daemon/questions/with-questions.ts'
import { type DiscoveryModule, isScan } from '../../../../discovery/module.ts'
import { NotPossibleHere, type ScanRun } from '../../../../discovery/scan-run.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import { config } from '../../../support/app.ts'
import { linkCell, silent } from '../../../support/cell.ts'
import { TEST_PSEUDONYMS } from '../../../support/pseudonyms.ts'
import { helpersWith, testModule } from '../../../support/test-module.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const run: ScanRun<{ count: number }> = async function* ({ count }, { report }) {
  for (let n = 0; n < count; n++) {
    report({ done: n, total: count })
    yield { name: `thing ${n}`, size_bytes: n }
  }
}

/** Cells on real links, each with the real question and a program of its own. */
const rig = async (t: Test, programs: Record<string, ScanRun<never>>, level = CAPABILITY) => {
  const parts = { config: { enabled: true, modules: {} }, scope: { read: () => ({ entries: [] }) } }
  const find = async (id: string) => (id === testModule.id ? testModule : undefined)
  const cells = await Promise.all(
    Object.entries(programs).map(async ([id, program]) => {
      const question = createModuleQuestion({ ...parts, helpers: helpersWith(program), find })
      const handle = withQuestions([question], () => {})
      const linked = await linkCell(id, handle as never)
      t.teardown(() => linked.close())
      const announce = { capability: level } as never
      return { ...newCell(id, 1), presence: 'ready' as const, announce, link: linked.link }
    }),
  )
  const store = await temporaryStore(t)
  const results = new ModuleResults(store.records)
  const recorded: RecordedRows[] = []
  const metrics = { discovery: createDiscoveryMetrics() }
  const budgets = new Budgets(config().limits)
  const runs = new ModuleRuns({
    runtime: systemRuntime,
    fleet: { cells: () => cells.values(), cell: id => cells.find(each => each.id === id) },
    budgets,
    results,
    sink: {
      record: async found => {
        recorded.push(found)
        return 'new'
      },
    },
    metrics,
    pseudonyms: TEST_PSEUDONYMS,
    now: () => 1_800_000_000_000,
    nowMs: () => performance.now(),
    logger: silent,
  })
  const ask = (input: object, cellId?: string, signal = new AbortController().signal) => {
    const reports: unknown[] = []
    const caller = { cellId, signal, report: (given: unknown) => void reports.push(given) }
    const answer = runs.run(scanOf(testModule), input, caller, found => structuredClone(found))
    return { answer: answer as Promise<CellResult[]>, reports }
  }
  const [runCounter] = metrics.discovery.list
  return { ask, results, recorded, budgets, countRuns: () => runCounter?.read() }
}

const scanOf = (module: DiscoveryModule) => {
  if (!isScan(module)) throw new TypeError('no scan')
  return module
}

t.test('a module runs on every capable cell, and each answers for itself', async t => {
  const notHere: ScanRun<never> = () => {
    throw new NotPossibleHere('no adapter')
  }
  const broken: ScanRun<never> = () => {
    throw new Error('it broke')
  }
  const programs = { a: run, b: notHere, c: broken }
  const { ask, results, recorded, budgets, countRuns } = await rig(t, programs)
  const { answer, reports } = ask({ count: 2 })
  const [a, b, c] = await answer
  t.match(a, { cellId: 'a', available: true, reason: null, rows: [{ name: 'thing 0' }, {}] })
  t.match(b, { cellId: 'b', available: false, reason: 'no adapter', rows: [] })
  t.match(c, { cellId: 'c', available: false, reason: /failed at module test-scan: .*it broke/ })
  t.match(reports.at(-1), { done: 3, total: 3 })
  t.match(
    recorded.toSorted((x, y) => ((x.cellId ?? '') < (y.cellId ?? '') ? -1 : 1)),
    [
      { cellId: 'a', module: 'test-scan', outcome: 'complete', rows: { length: 2 } },
      { cellId: 'b', outcome: 'unavailable' },
    ],
  )
  t.match(await results.readLast('test-scan', 'a'), [{ rows: a?.rows, outcome: 'complete' }])
  t.equal((await results.readLast('test-scan', undefined)).length, 2)
  t.equal(budgets.moduleRows.used + budgets.moduleRuns.used, 0)
  const statuses = countRuns()?.map(({ labels, value }) => [labels.status, value])
  t.strictSame(statuses?.toSorted(), [
    ['complete', 1],
    ['failed', 1],
    ['unavailable', 1],
  ])
})

t.test('a named cell that cannot run the module is an error', async t => {
  const { ask } = await rig(t, { a: run })
  await t.rejects(ask({ count: 1 }, 'x').answer, { code: 'not_found' })
  await t.rejects(ask({ count: -1 }, 'a').answer, { code: 'invalid_request' })
  const { answer, reports } = ask({ count: 2 }, 'a')
  t.equal((await answer).length, 1)
  t.ok(reports.length > 1, 'its own progress is reported')
})

t.test('a refusal of every cell is the error of the call, and that of some is not', async t => {
  const refuse: ScanRun<never> = () => {
    throw new ShoalError('scope_denied', '192.0.2.1 is outside the scope')
  }
  const all = await rig(t, { a: refuse, b: refuse })
  for (const cellId of ['a', undefined])
    await t.rejects(all.ask({ count: 1 }, cellId).answer, {
      code: 'scope_denied',
      message: '192.0.2.1 is outside the scope',
    })
  const some = await rig(t, { a: refuse, b: run })
  t.match(await some.ask({ count: 1 }).answer, [
    { available: false, reason: /outside the scope/ },
    { available: true },
  ])
})

t.test('a cell below the level of modules is not asked', async t => {
  const { ask } = await rig(t, { a: () => t.fail('asked') as never }, 6)
  await t.rejects(ask({ count: 1 }, 'a').answer, { code: 'conflict', message: /level 7/ })
  await t.rejects(ask({ count: 1 }).answer, { code: 'cell_unavailable' })
})

t.test('equal runs are one run, which ends when its last caller leaves', async t => {
  let starts = 0
  const ended = Promise.withResolvers<void>()
  const slow: ScanRun<never> = async function* (_input, { signal }) {
    starts++
    yield { name: 'first', size_bytes: 0 }
    await new Promise(done => signal.addEventListener('abort', done))
    ended.resolve()
  }
  const { ask } = await rig(t, { a: slow })
  const [first, second] = [new AbortController(), new AbortController()]
  const answers = [first, second].map(({ signal }) => ask({ count: 1 }, 'a', signal).answer)
  first.abort()
  await t.rejects(answers[0] as Promise<unknown>)
  second.abort()
  await t.rejects(answers[1] as Promise<unknown>)
  await ended.promise
  t.equal(starts, 1)
})

t.test('rows of another form are left out, and so are those beyond the memory', async t => {
  const odd: ScanRun<never> = function* () {
    yield { name: 1 }
    yield { name: 'good', size_bytes: 1 }
  }
  const { ask, budgets } = await rig(t, { a: odd, b: run })
  const [a, b] = await ask({ count: 1 }).answer
  t.match(a, { rows: [{ name: 'good' }], warnings: [{ code: 'unparsed_record' }] })
  t.match(b, { rows: { length: 1 } })
  budgets.moduleRows.open({ cell: 'b' }).force(budgets.moduleRows.limits.per.cell - 60)
  const [full] = await ask({ count: 5 }, 'b').answer
  t.match(full, { rows: { length: 1 }, warnings: [{ code: 'partial_result' }] })
})

t.test('the last result is that of the newest whole run, over its parts', async t => {
  const { results } = await rig(t, {})
  const part = {
    ...{ cellId: 'a', module: 'm', startedAt: 1, takenAt: 1, elapsedMs: null, reason: null },
    notes: { warnings: [] },
  }
  const keep = (runId: string, number: number, outcome?: 'complete') =>
    results.keepPart({ ...part, runId, part: number, rows: [{ runId, number }], outcome })
  await keep('one', 0)
  t.strictSame(await results.readLast('m', 'a'), [])
  await keep('one', 1, 'complete')
  await keep('lost', 0)
  await keep('two', 0)
  t.match(await results.readLast('m', 'a'), [
    { runId: 'one', rows: [{ number: 0 }, { number: 1 }] },
  ])
  await keep('two', 1, 'complete')
  await keep('two', 1, 'complete')
  t.match(await results.readLast('m', 'a'), [{ runId: 'two', rows: [{}, {}] }])
  await results.keepPart({
    ...{ ...part, startedAt: 0, takenAt: 2, runId: 'old', part: 0 },
    ...{ rows: [], outcome: 'complete' },
  })
  t.match(await results.readLast('m', 'a'), [{ runId: 'two' }], 'an older run comes too late')
  await results.forgetBefore(2)
  t.strictSame(await results.readLast('m', undefined), [])
})

t.test('a reason is stored whatever characters a host put into it', async t => {
  const { results } = await rig(t, {})
  await results.keep({
    ...{ cellId: 'a', module: 'm', runId: 'one', startedAt: 1, takenAt: 1, elapsedMs: null },
    ...{ outcome: 'failed', reason: "unexpected '\0' and '\ud83d'", rows: [] },
    notes: { warnings: [] },
  })
  t.match(await results.readLast('m', 'a'), [{ reason: "unexpected '\ufffd' and '\ufffd'" }])
})
