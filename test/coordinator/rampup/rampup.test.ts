import t, { type Test } from 'tap'
import * as z from 'zod'
import { bootstrap } from '../../../coordinator/keys/bootstrap.ts'
import type { Job } from '../../../coordinator/queue/job.ts'
import { JobError } from '../../../coordinator/queue/job-error.ts'
import { defineJobKind } from '../../../coordinator/queue/job-kind.ts'
import { createQueue } from '../../../coordinator/queue/queue.ts'
import { carryOn } from '../../../coordinator/rampup/carry-on.ts'
import { planStages } from '../../../coordinator/rampup/ramp-up.ts'
import { RAMP_UP, RampUps } from '../../../coordinator/rampup/ramp-ups.ts'
import { RampUpConfig } from '../../../coordinator/rampup/rampup-config.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { a2aScene, caller } from '../../support/a2a.ts'
import { temporaryStore } from '../store/temporary.ts'

const CELLS = ['a', 'b', 'c', 'd']
const BY = { tenantId: 'demo', keyId: 'key_1', requestId: 'req', actor: 'key:key_1' }
const SLOTS = { inference: { slots: 8 } }

/** Cells that apply settings at once, unless they are in `stubborn`. */
const scene = async (t: Test) => {
  const store = await temporaryStore(t)
  await bootstrap(store)
  const clock = { ms: 1000 }
  const now = () => clock.ms
  const stubborn = new Map<string, 'refused' | 'probation'>()
  const alerts: object[] = []
  const away = new Set<string>()
  const broken = new Set<string>()
  const revoked = new Set<string>()
  const documents = new Map<string, { version: number; document: Record<string, unknown> }>()
  documents.set('b', { version: 1, document: { log: { level: 'warn' } } })
  const sets: string[] = []
  const configs = {
    set: async ({ name, document }: { name: string; document: Record<string, unknown> }) => {
      if (broken.delete(name)) throw new Error('the process ends here')
      sets.push(name)
      documents.set(name, { version: sets.length + 1, document })
    },
    show: async (id: string) => {
      if (revoked.has(id)) throw new ShoalError('not_found', `no cell ${id}`)
      const own = documents.get(id)
      const version = own?.version ?? 0
      const state = stubborn.get(id) ?? 'applied'
      return {
        tags: [],
        version,
        sources: own === undefined ? [] : [{ scope: 'cell', name: id, ...own }],
        reported: { state, desired_version: version, applied_version: version },
      }
    },
    list: () => [...documents].map(([name, own]) => ({ scope: 'cell', name, ...own })),
  }
  const cellOf = (id: string) => ({
    id,
    presence: away.has(id) ? 'dead' : 'ready',
    link: {},
    isLinkLate: false,
  })
  const fleet = { cells: () => CELLS.map(cellOf), cell: cellOf }
  const { ledger } = store
  const kind = defineJobKind({
    kind: RAMP_UP,
    payload: z.object({ id: z.string() }),
    account: () => ({ project: 'rampup' }),
    maxAttempts: 1,
    backOff: { firstSeconds: 1, factor: 1, maxSeconds: 1 },
    concurrency: 1,
    timeoutSeconds: 1,
    leaseSeconds: 1,
    keptDays: 1,
    run: async () => {},
  })
  const queue = createQueue({ ledger, kinds: () => new Map([[RAMP_UP, kind]]), now })
  const config = RampUpConfig.parse({
    document: SLOTS,
    stages_percent: [25, 100],
    hold_seconds: 60,
    apply_seconds: 30,
  })
  const rampUps = new RampUps({ ledger, config, queue, configs, fleet, now } as never)
  const plan = await rampUps.plan()
  const start = () => ledger.sealed.write(trx => rampUps.startWithin(trx, plan, BY))
  const parts = { ledger, configs, fleet, alerts: () => alerts, now } as never
  /** One look, by a claim of the job with this fence. */
  const look = async (id: string, fence = 1): Promise<string> => {
    try {
      await carryOn(parts, id, { fence } as Job)
      return 'ended'
    } catch (error) {
      if (!(error instanceof JobError)) throw error
      return error.message
    }
  }
  const latest = async () => rampUps.latest('demo')
  return {
    clock,
    stubborn,
    alerts,
    away,
    broken,
    revoked,
    documents,
    sets,
    rampUps,
    plan,
    start,
    look,
    latest,
  }
}

t.test('stages grow by whole cells, and none is empty', async t => {
  t.strictSame(planStages(['d', 'a', 'c', 'b'], [25, 50, 100]), [['a'], ['b'], ['c', 'd']])
  t.strictSame(planStages(['a'], [10, 50, 100]), [['a']])
})

t.test('each stage is applied, held and followed by the next', async t => {
  const { clock, documents, sets, start, look, latest } = await scene(t)
  const id = await start()
  t.equal(await look(id), 'holding')
  t.strictSame(sets, ['a'])
  clock.ms += 59_000
  t.equal(await look(id), 'holding')
  clock.ms += 1000
  t.equal(await look(id), 'continuing with the next stage')
  t.equal(await look(id), 'holding')
  t.strictSame(sets, ['a', 'b', 'c', 'd'], 'no cell is set twice')
  t.strictSame(documents.get('b')?.document, { log: { level: 'warn' }, ...SLOTS })
  clock.ms += 60_000
  t.equal(await look(id), 'ended')
  t.match(await latest(), { state: 'done', reason: undefined })
})

t.test('a fault restores the earlier settings', async t => {
  const cases: [string, (at: Awaited<ReturnType<typeof scene>>) => void, RegExp][] = [
    ['a refusal', ({ stubborn }) => stubborn.set('b', 'refused'), /b has refused its settings/],
    ['a lost cell', ({ away }) => away.add('a'), /a no longer serves requests/],
    ['a revoked cell', ({ revoked }) => revoked.add('c'), /c is no longer enrolled/],
    [
      'a critical alert',
      ({ alerts, clock }) =>
        alerts.push({ cellId: 'b', level: 'critical', message: 'hot', raisedAt: clock.ms }),
      /alert on b: hot/,
    ],
  ]
  for (const [name, cause, reason] of cases) {
    const at = await scene(t)
    const { clock, documents, start, look, latest } = at
    const id = await start()
    await look(id)
    clock.ms += 60_000
    await look(id)
    await look(id)
    cause(at)
    t.equal(await look(id), 'ended', name)
    t.match(await latest(), { state: 'aborted', reason })
    t.strictSame(documents.get('b')?.document, { log: { level: 'warn' } })
    t.strictSame(documents.get('a')?.document, {})
  }
})

t.test('an abort that a crash interrupts is completed, even if its cause is gone', async t => {
  const { clock, away, broken, documents, start, look, latest } = await scene(t)
  const id = await start()
  await look(id)
  clock.ms += 60_000
  await look(id)
  await look(id)
  away.add('a')
  broken.add('b')
  await t.rejects(look(id), { message: 'the process ends here' })
  away.delete('a')
  t.equal(await look(id), 'ended')
  t.match(await latest(), { state: 'aborted', reason: /a no longer serves requests/ })
  for (const cell of CELLS) t.notMatch(documents.get(cell)?.document, SLOTS)
})

t.test('a cell that does not apply its settings in time ends the ramp-up', async t => {
  const { clock, stubborn, documents, start, look, latest } = await scene(t)
  stubborn.set('a', 'probation')
  const id = await start()
  t.equal(await look(id), 'waiting for the cells')
  clock.ms += 31_000
  t.equal(await look(id), 'ended')
  t.match(await latest(), { state: 'aborted', reason: /in time/ })
  t.strictSame(documents.get('a')?.document, {})
})

t.test('one ramp-up runs at a time, and an earlier claim writes nothing more', async t => {
  const { start, look, rampUps, latest } = await scene(t)
  const id = await start()
  await t.rejects(start(), { code: 'conflict' } as never)
  t.equal(await look(id, 2), 'holding')
  t.equal(await look(id, 1), 'another worker has the ramp-up')
  await rampUps.abort('demo', BY)
  t.equal(await look(id, 2), 'ended')
  t.match(await latest(), { state: 'aborted', reason: 'aborted by an operator' })
  await t.rejects(rampUps.abort('demo', BY), { code: 'conflict' } as never)
  await t.rejects(rampUps.abort('other', BY), { code: 'conflict' } as never)
})

t.test('the skill says what is missing', async t => {
  const { url, demo } = await a2aScene(t)
  const control = (action: string) =>
    caller(url, demo.operator).json('/v1/skills/rampup-control', { action })
  t.match(await control('status'), {
    status: 200,
    json: { data_state: 'empty', configured: false, ramp_up: null },
  })
  t.match(await control('start'), {
    status: 409,
    json: { error: { message: 'rampup.document is not configured' } },
  })
  t.equal((await control('abort')).status, 409)
})
