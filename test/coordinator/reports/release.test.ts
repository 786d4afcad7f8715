import t from 'tap'
import { diagnose } from '../../../coordinator/fleet/diagnosis.ts'
import { CHECK_IDS } from '../../../coordinator/gates/checks.ts'
import { GAP_AREAS } from '../../../coordinator/reports/gaps.ts'
import { type QualityFacts, rateQuality } from '../../../coordinator/reports/quality.ts'
import {
  CHANNELS,
  type CheckOutcomes,
  judgeBlocks,
  RELEASE_BLOCKS,
  ReleaseRecords,
} from '../../../coordinator/reports/release.ts'
import { figuresOf, NO_USAGE } from '../../../coordinator/reports/service-figures.ts'

const sums = { ...NO_USAGE, ok: 100, duration_ms: 1000, ttft_count: 100, ttft_le_2500: 100 }
const good: QualityFacts = {
  service: figuresOf(sums),
  promptPercent: 100,
  calls: 10,
  failedCalls: 0,
  doneJobs: 10,
  deadJobs: 0,
  endedRequests: 10,
  expiredRequests: 0,
  alerts: [{ raisedAt: 0, clearedAt: undefined, acknowledged: { by: 'p', at: 60_000, note: '' } }],
  engines: 1,
  unreliableEngines: 0,
}

/** For each indicator, what breaks it. */
const BROKEN_QUALITY: Record<string, Partial<QualityFacts>> = {
  request_errors: { service: figuresOf({ ...sums, unavailable: 50 }) },
  first_token: { promptPercent: 79 },
  retries: { service: figuresOf({ ...sums, retries: 51 }) },
  call_errors: { failedCalls: 3 },
  dead_jobs: { deadJobs: 1 },
  expired_requests: { expiredRequests: 6 },
  time_to_acknowledge: {
    alerts: [
      { raisedAt: 0, clearedAt: undefined, acknowledged: { by: 'p', at: 3_660_000, note: '' } },
    ],
  },
  unreliable_engines: { unreliableEngines: 1 },
}

const resultsOf = (facts: QualityFacts): Record<string, string> =>
  Object.fromEntries(rateQuality(facts).map(({ id, result }) => [id, result]))

t.test('each quality indicator passes on a sound service, and fails on its own fault', async t => {
  t.strictSame([...new Set(Object.values(resultsOf(good)))], ['pass'])
  t.strictSame(Object.keys(BROKEN_QUALITY).toSorted(), Object.keys(resultsOf(good)).toSorted())
  for (const [id, broken] of Object.entries(BROKEN_QUALITY)) {
    const results = resultsOf({ ...good, ...broken })
    const failed = Object.keys(results).filter(name => results[name] !== 'pass')
    t.strictSame(failed, [id])
    t.equal(results[id], 'fail', id)
  }
})

const DIAGNOSES = diagnose({
  storeProblem: undefined,
  disk: undefined,
  loopDelayMs: 0,
  brokerConnected: true,
  cells: [],
  models: [],
  alerts: [],
  quarantined: [],
  replicas: [],
}).map(({ id }) => id)

const outcomes = (passed: boolean, but?: { source: string; id: string }): CheckOutcomes => {
  const of = (source: string, ids: readonly string[]) =>
    new Map(
      ids.map(id => {
        const isOther = but?.source === source && but.id === id
        return [id, { passed: isOther ? !passed : passed, evidence: 'e' }]
      }),
    )
  return {
    diagnosis: of('diagnosis', DIAGNOSES),
    governance: of('governance', CHECK_IDS),
    gaps: of('gaps', GAP_AREAS),
    quality: of('quality', Object.keys(resultsOf(good))),
  }
}

t.test('there are 55 building blocks in 5 channels', async t => {
  t.equal(RELEASE_BLOCKS.length, 55)
  t.equal(new Set(RELEASE_BLOCKS.map(({ id }) => id)).size, 55)
  t.strictSame([...new Set(RELEASE_BLOCKS.map(({ channel }) => channel))], [...CHANNELS])
})

t.test('a block with a check fails with its check, and with no other', async t => {
  for (const { id, check } of RELEASE_BLOCKS) {
    if (check === undefined) continue
    const states = judgeBlocks(outcomes(true, check), {}).filter(each => each.kind === 'check')
    t.strictSame(
      states.filter(({ state }) => state !== 'ready').map(each => [each.id, each.state]),
      [[id, 'not_ready']],
    )
  }
})

t.test('a block without a check needs a record with evidence and owner', async t => {
  const record = { state: 'ready', evidence: 'report 7', owner: 'ann', on: '2026-11-20' } as const
  const find = (records: object) =>
    judgeBlocks(outcomes(true), ReleaseRecords.parse(records)).find(
      ({ id }) => id === 'launch-load-tested',
    )
  t.match(find({}), { state: 'unknown', owner: undefined })
  t.match(find({ 'launch-load-tested': record }), {
    state: 'ready',
    owner: 'ann',
    evidence: 'report 7 (2026-11-20)',
  })
  t.match(find({ 'launch-load-tested': { ...record, state: 'not_ready' } }), { state: 'not_ready' })
  t.notOk(ReleaseRecords.safeParse({ 'platform-store': record }).success, 'it has a check')
  const { owner: _, ...unowned } = record
  t.notOk(ReleaseRecords.safeParse({ 'launch-load-tested': unowned }).success)
})
