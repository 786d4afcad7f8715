import t from 'tap'
import type { FrameworkReport } from '../../../../coordinator/access/gates/compliance/report.ts'
import { loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import type { Observations } from '../../../../coordinator/fleet/alerts/diagnosis.ts'
import type { GapFacts } from '../../../../coordinator/insight/reports/gaps.ts'
import { type QualityFacts, rateQuality } from '../../../../coordinator/insight/reports/quality.ts'
import {
  CHANNELS,
  judgeBlocks,
  listReleaseBlocks,
  ReleaseRecords,
} from '../../../../coordinator/insight/reports/release.ts'
import {
  type ReleaseFacts,
  runReleaseChecks,
} from '../../../../coordinator/insight/reports/release-checks.ts'
import { metricsOf, NO_USAGE } from '../../../../coordinator/insight/reports/service-metrics.ts'
import { BROKEN, healthy } from '../../../support/governance-facts.ts'

const sums = { ...NO_USAGE, ok: 100, duration_ms: 1000, ttft_count: 100, ttft_le_2500: 100 }
const good: QualityFacts = {
  service: metricsOf(sums),
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

/** Facts that break each indicator. */
const BROKEN_QUALITY: Record<string, Partial<QualityFacts>> = {
  request_errors: { service: metricsOf({ ...sums, unavailable: 50 }) },
  first_token: { promptPercent: 79 },
  retries: { service: metricsOf({ ...sums, retries: 51 }) },
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

const cell = { id: 'a', presence: 'ready', linked: true, clockAheadMs: 0 } as const
const observations: Observations = {
  storeProblem: undefined,
  disk: { freeBytes: 50, totalBytes: 100 },
  loopDelayMs: 0,
  brokerConnected: true,
  cells: [cell],
  models: [{ id: 'm', served: true }],
  alerts: [],
  quarantined: [],
  replicas: [{ id: 'rep_1', version: '1', unconnected: [] }],
}

const gaps: GapFacts = {
  models: [{ id: 'm', served: true }],
  cells: [{ id: 'a' }],
  presenceOf: () => 'ready',
  gates: {},
  approvers: [],
  frameworks: [],
  backups: { state: 'ok', newest: undefined, ageMs: 0, remedy: undefined },
}
const openControl = { id: '9', title: 'Monitoring', state: 'open', open: ['no evidence'] }
const framework = { framework: 'iso42001', controls: [openControl] } as unknown as FrameworkReport

const sound: ReleaseFacts = { observations, governance: healthy, gaps, quality: good }

/** Facts that break each source and check. */
const BROKEN_FACTS = {
  diagnosis: {
    replicas: { replicas: [...observations.replicas, { id: 'b', version: '2', unconnected: [] }] },
    alerts: { alerts: [{ level: 'critical', message: 'hot' }] },
    quarantine: { quarantined: ['a'] },
    store: { storeProblem: 'the disk is full' },
    disk: { disk: { freeBytes: 1, totalBytes: 100 } },
    broker: { brokerConnected: false },
    cells: { cells: [{ ...cell, presence: 'dead' }] },
    links: { cells: [{ ...cell, linked: false }] },
    models: { models: [{ id: 'm', served: false }] },
    clock: { cells: [{ ...cell, clockAheadMs: 60_000 }] },
    'event-loop': { loopDelayMs: 1001 },
  } satisfies Record<string, Partial<Observations>>,
  governance: BROKEN,
  gaps: {
    models: { models: [{ id: 'm', served: false }] },
    cells: { presenceOf: () => 'dead' },
    roles: { gates: loadShippedGates() },
    evidence: { frameworks: [framework] },
    backups: {
      backups: { state: 'none', newest: undefined, ageMs: undefined, remedy: 'Make a backup.' },
    },
  } satisfies Record<string, Partial<GapFacts>>,
  quality: BROKEN_QUALITY,
} as const

const FACTS_OF = {
  diagnosis: 'observations',
  governance: 'governance',
  gaps: 'gaps',
  quality: 'quality',
} as const

/** States of the blocks with a check, by id. */
const statesOf = (facts: ReleaseFacts): Map<string, string> => {
  const judged = judgeBlocks(runReleaseChecks(facts), {})
  return new Map(judged.flatMap(each => (each.kind === 'check' ? [[each.id, each.state]] : [])))
}

t.test('there are 55 building blocks in 5 channels', async t => {
  t.equal(listReleaseBlocks().length, 55)
  t.equal(new Set(listReleaseBlocks().map(({ id }) => id)).size, 55)
  t.strictSame([...new Set(listReleaseBlocks().map(({ channel }) => channel))], [...CHANNELS])
})

t.test('every block with a check is ready on a sound service', async t => {
  const states = statesOf(sound)
  t.equal(states.size, 47)
  t.strictSame(
    [...states].filter(([, state]) => state !== 'ready'),
    [],
  )
})

for (const { id, check } of listReleaseBlocks())
  if (check !== undefined)
    t.test(`${id} is not ready on a broken fixture`, async t => {
      const { source, id: checkId } = check
      const broken = (BROKEN_FACTS[source] as Record<string, object>)[checkId]
      t.ok(broken, 'there is a fixture that breaks the check')
      const name = FACTS_OF[source]
      const states = statesOf({ ...sound, [name]: { ...sound[name], ...broken } })
      t.equal(states.get(id), 'not_ready')
      const others = listReleaseBlocks().filter(
        block => block.check && block.check.source !== source,
      )
      t.strictSame(
        others.filter(block => states.get(block.id) !== 'ready'),
        [],
        'blocks of other sources are ready',
      )
    })

t.test('a block without a check needs a record with evidence and owner', async t => {
  const record = { state: 'ready', evidence: 'report 7', owner: 'ann', on: '2026-11-20' } as const
  const find = (records: object) =>
    judgeBlocks(runReleaseChecks(sound), ReleaseRecords.parse(records)).find(
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
