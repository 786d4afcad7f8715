import t, { type Test } from 'tap'
import { bootstrap } from '../../../../coordinator/access/keys/bootstrap.ts'
import { createUsage } from '../../../../coordinator/access/quota/usage.ts'
import type { ConfigChange } from '../../../../coordinator/fleet/control/config-store.ts'
import { readCellConfigs, writeConfig } from '../../../../coordinator/fleet/control/config-store.ts'
import { continueRampUp } from '../../../../coordinator/fleet/rampup/continue-ramp-up.ts'
import { ErrorShares } from '../../../../coordinator/fleet/rampup/error-share.ts'
import rampUpPlan from '../../../../coordinator/fleet/rampup/operations/rampup-plan.ts'
import { planStages } from '../../../../coordinator/fleet/rampup/ramp-up.ts'
import { forgetRampUps } from '../../../../coordinator/fleet/rampup/ramp-up-claim.ts'
import { createRampUpKind } from '../../../../coordinator/fleet/rampup/ramp-up-kind.ts'
import { RAMP_UP, RampUps } from '../../../../coordinator/fleet/rampup/ramp-ups.ts'
import { RampUpConfig } from '../../../../coordinator/fleet/rampup/rampup-config.ts'
import type { Job } from '../../../../coordinator/kernel/queue/job.ts'
import { JobError } from '../../../../coordinator/kernel/queue/job-error.ts'
import { createQueue } from '../../../../coordinator/kernel/queue/queue.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { a2aScene, caller } from '../../../support/a2a.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const CELLS = ['a', 'b', 'c', 'd']
const BY = { tenantId: 'demo', keyId: 'key_1', requestId: 'req', actor: 'key:key_1' }
const SLOTS = { inference: { slots: 8 } }
const LIMITS = { apply_seconds: 1, hold_seconds: 2, error_rise_percent: 3, min_requests: 4 }

/** Cells that apply settings at once, unless they are in `stubborn`. */
const scene = async (t: Test) => {
  const store = await temporaryStore(t)
  await bootstrap(store)
  const clock = { ms: 10_000_000 }
  const now = () => clock.ms
  const stubborn = new Map<string, 'refused' | 'probation'>()
  const alerts: object[] = []
  const away = new Set<string>()
  const { ledger } = store
  const sets: string[] = []
  const set = async (change: ConfigChange) => {
    const kept = await writeConfig(ledger, change, { actor: 'test' }, now())
    sets.push(change.name)
    return kept
  }
  await set({ scope: 'cell', name: 'b', document: { log: { level: 'warn' } } })
  sets.length = 0
  const ownOf = async (id: string) => (await readCellConfigs(ledger.read, [id])).get(id)
  const configs = {
    set,
    show: async (id: string) => {
      const own = await ownOf(id)
      const version = own?.version ?? 0
      const state = stubborn.get(id) ?? 'applied'
      return {
        tags: [],
        version,
        sources: own === undefined ? [] : [own],
        reported: { state, desired_version: version, applied_version: version },
      }
    },
  }
  /** Requests that a cell served now, or failed. */
  const serve = async (cellId: string, requests: number, failed: number) => {
    const rows = Array.from({ length: requests }, (_, n) => ({
      id: `${cellId} ${clock.ms} ${n}`,
      at: clock.ms,
      key_id: 'k',
      tenant_id: 'demo',
      model: 'm',
      cell_id: cellId,
      route: '/v1/chat/completions',
      status: n < failed ? ('failed' as const) : ('ok' as const),
      prompt_tokens: 1,
      completion_tokens: 1,
      cached_tokens: 0,
      duration_ms: 1,
      request_id: 'r',
    }))
    await createUsage(store).recordRows(rows)
  }
  const cellOf = (id: string) => ({
    id,
    presence: away.has(id) ? 'dead' : 'ready',
    link: {},
    isLinkLate: false,
  })
  const fleet = { cells: () => CELLS.map(cellOf), cell: cellOf }
  const records = { scan: store.records.scan }
  const errorShares = new ErrorShares({ records, now })
  const parts = { ledger, errorShares, configs, fleet, alerts: () => alerts, now }
  const kind = createRampUpKind(parts as never)
  const queue = createQueue({
    ledger,
    kinds: () => new Map([[RAMP_UP, kind]]),
    now,
    ids: systemRuntime.ids,
  })
  const config = RampUpConfig.parse({
    document: SLOTS,
    stages_percent: [25, 100],
    hold_seconds: 60,
    apply_seconds: 30,
  })
  const rampUps = new RampUps({
    ledger,
    config,
    queue,
    configs,
    fleet,
    now,
    runtime: systemRuntime,
  } as never)
  const plan = await rampUps.plan()
  const start = () => ledger.sealed.write(trx => rampUps.startWithin(trx, plan, BY))
  /** One look, by a claim of the job with this fence. */
  const look = async (id: string, fence = 1, over: object = {}): Promise<string> => {
    try {
      await continueRampUp({ ...parts, ...over } as never, id, { fence } as Job)
      return 'ended'
    } catch (error) {
      if (!(error instanceof JobError)) throw error
      return error.message
    }
  }
  const latest = async () => rampUps.latest('demo')
  const documentOf = async (id: string) => (await ownOf(id))?.document
  const acts = { start, look, latest, serve, set, documentOf }
  return { clock, stubborn, alerts, away, sets, configs, rampUps, queue, ledger, plan, ...acts }
}

t.test('stages grow by whole cells, and none is empty', async t => {
  t.strictSame(planStages(['d', 'a', 'c', 'b'], [25, 50, 100]), [['a'], ['b'], ['c', 'd']])
  t.strictSame(planStages(['a'], [10, 50, 100]), [['a']])
})

t.test('each stage is applied, held and followed by the next', async t => {
  const { clock, documentOf, sets, start, look, latest } = await scene(t)
  const id = await start()
  t.equal(await look(id), 'holding')
  t.strictSame(sets, ['a'])
  clock.ms += 59_000
  t.equal(await look(id), 'holding')
  clock.ms += 1000
  t.equal(await look(id), 'continuing with the next stage')
  t.equal(await look(id), 'holding')
  t.strictSame(sets, ['a', 'b', 'c', 'd'], 'no cell is set twice')
  t.strictSame(await documentOf('b'), { log: { level: 'warn' }, ...SLOTS })
  clock.ms += 60_000
  t.equal(await look(id), 'ended')
  t.match(await latest(), { state: 'done', reason: undefined })
})

t.test('a fault restores the earlier settings', async t => {
  const cases: [string, (at: Awaited<ReturnType<typeof scene>>) => unknown, RegExp][] = [
    ['a refusal', ({ stubborn }) => stubborn.set('b', 'refused'), /b has refused its settings/],
    [
      'a removed cell',
      ({ configs }) => {
        const { show } = configs
        configs.show = async id => {
          if (id === 'd') throw new ShoalError('not_found', 'no cell d')
          return show(id)
        }
      },
      /d is no longer enrolled/,
    ],
    [
      'settings that were changed by somebody else',
      ({ set }) => set({ scope: 'cell', name: 'c', document: { log: { level: 'debug' } } }),
      /the settings of c were changed in the meantime/,
    ],
    ['failed requests', ({ serve }) => serve('b', 20, 3), /15.0 percent of 20 requests failed/],
    [
      'a critical alert',
      ({ alerts, clock }) =>
        alerts.push({ cellId: 'b', level: 'critical', message: 'hot', raisedAt: clock.ms }),
      /alert on b: hot/,
    ],
  ]
  for (const [name, cause, reason] of cases) {
    const at = await scene(t)
    const { clock, documentOf, start, look, latest } = at
    const id = await start()
    await look(id)
    clock.ms += 60_000
    await look(id)
    await look(id)
    await cause(at)
    clock.ms += 15_000
    t.equal(await look(id), 'ended', name)
    t.match(await latest(), { state: 'aborted', reason })
    t.strictSame(await documentOf('b'), { log: { level: 'warn' } })
    t.strictSame(await documentOf('a'), {})
  }
})

t.test('a cell that does not apply its settings in time ends the ramp-up', async t => {
  const { clock, stubborn, documentOf, start, look, latest } = await scene(t)
  stubborn.set('a', 'probation')
  const id = await start()
  t.equal(await look(id), 'waiting for the cells')
  clock.ms += 31_000
  t.equal(await look(id), 'ended')
  t.match(await latest(), { state: 'aborted', reason: /in time/ })
  t.strictSame(await documentOf('a'), {})
})

t.test('a lost cell is waited for, as after a start, before the ramp-up is aborted', async t => {
  const { clock, away, start, look, latest } = await scene(t)
  const id = await start()
  await look(id)
  clock.ms += 60_000
  away.add('a')
  t.match(await look(id), /waiting for a/)
  clock.ms += 60_000
  t.match(await look(id), /waiting for a/, 'no stage begins meanwhile')
  away.delete('a')
  t.equal(await look(id), 'continuing with the next stage')
  await look(id)
  away.add('b')
  t.match(await look(id), /waiting for b/)
  clock.ms += 60_001
  t.equal(await look(id), 'ended')
  t.match(await latest(), { state: 'aborted', reason: 'b no longer serves requests' })
})

t.test('failed requests count against those before the start, once there are enough', async t => {
  const { clock, start, look, serve } = await scene(t)
  await serve('a', 100, 12)
  clock.ms += 1
  const id = await start()
  await look(id)
  await serve('a', 19, 19)
  clock.ms += 15_000
  t.equal(await look(id), 'holding', '19 requests are too few')
  await serve('a', 181, 15)
  clock.ms += 15_000
  t.equal(await look(id), 'holding', '17 percent after 12 percent')
  await serve('a', 10, 10)
  clock.ms += 1
  t.equal(await look(id), 'holding', 'the errors are read every 15 seconds')
  clock.ms += 60_000
  t.equal(await look(id), 'ended', 'and before the stage ends')
})

t.test('a worker that was superseded in the middle of a look changes no settings', async t => {
  const { clock, configs, documentOf, rampUps, start, look, latest } = await scene(t)
  const id = await start()
  const { set } = configs
  const late = await look(id, 1, {
    configs: {
      ...configs,
      set: async (change: ConfigChange) => {
        // another coordinator carries the ramp-up to its end meanwhile
        await rampUps.abort('demo', BY)
        t.equal(await look(id, 2), 'ended')
        return set(change)
      },
    },
  })
  t.equal(late, 'another worker has the ramp-up')
  t.match(await latest(), { state: 'aborted' })
  t.equal(await documentOf('a'), undefined)
  clock.ms += 1000
  t.equal(await look(id, 3), 'ended')
})

t.test('an abort that was interrupted restores the other cells too', async t => {
  const { clock, alerts, configs, documentOf, start, look, latest } = await scene(t)
  const id = await start()
  await look(id)
  clock.ms += 60_000
  await look(id)
  await look(id)
  const alert = { cellId: 'b', level: 'critical', message: 'hot', raisedAt: clock.ms }
  alerts.push(alert)
  const { set } = configs
  const dying = async (change: ConfigChange) => {
    if (change.name === 'c') throw new Error('the process has died')
    return set(change)
  }
  await t.rejects(look(id, 1, { configs: { ...configs, set: dying } }))
  t.strictSame(await documentOf('d'), SLOTS)
  alerts.length = 0
  t.equal(await look(id, 2), 'ended')
  t.match(await latest(), { state: 'aborted', reason: 'alert on b: hot' })
  for (const cell of ['a', 'c', 'd']) t.strictSame(await documentOf(cell), {})
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

t.test('an abort during the last look is not overwritten by its end', async t => {
  const { clock, configs, documentOf, rampUps, start, look, latest } = await scene(t)
  const id = await start()
  await look(id)
  clock.ms += 60_000
  await look(id)
  await look(id)
  clock.ms += 60_000
  const { show } = configs
  let isAborted = false
  const showAndAbort = async (cellId: string) => {
    if (!isAborted) await rampUps.abort('demo', BY)
    isAborted = true
    return show(cellId)
  }
  t.not(await look(id, 1, { configs: { ...configs, show: showAndAbort } }), 'ended')
  t.match(await latest(), { state: 'running', aborted: true })
  t.equal(await look(id), 'ended')
  t.match(await latest(), { state: 'aborted' })
  t.strictSame(await documentOf('a'), {})
})

t.test('the job of a running ramp-up is ended only by aborting it', async t => {
  const { look, queue, rampUps, start, latest } = await scene(t)
  const id = await start()
  const job = (await latest())?.jobId ?? ''
  const refused = {
    code: 'conflict',
    message: /use "shoal skills run rampup-control --action abort"/,
  }
  await t.rejects(queue.cancel(job, BY, BY), refused)
  await t.rejects(queue.discard(job, BY, BY), refused)
  await rampUps.abort('demo', BY)
  t.equal(await look(id), 'ended')
  t.match(await queue.cancel(job, BY, BY), { state: 'cancelled' })
})

t.test('only ramp-ups that ended long ago are forgotten', async t => {
  const { clock, ledger, look, rampUps, start, latest } = await scene(t)
  const id = await start()
  const forget = () => forgetRampUps(ledger, clock.ms, 1)
  clock.ms += 1
  t.equal(await forget(), false)
  await rampUps.abort('demo', BY)
  await look(id)
  t.equal(await forget(), false)
  t.match(await latest(), { state: 'aborted' })
  clock.ms += 1
  t.equal(await forget(), true)
  t.equal(await latest(), undefined)
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
  const dry = await caller(url, demo.operator).json('/v1/rampup/plan')
  t.match(dry, { status: 409, json: { error: { message: 'rampup.document is not configured' } } })
})

t.test('the dry run of a start shows the cells of each stage', async t => {
  const plan = { document: SLOTS, stages: [['a'], ['b', 'c']], ...LIMITS }
  const { run } = rampUpPlan as unknown as { run(input: object, views: object): Promise<object> }
  const shown = await run({}, { rampUps: { plan: async () => plan } })
  t.match(rampUpPlan.output.parse(shown), {
    gate_id: 'gate.production-deploy',
    document: SLOTS,
    stages: [
      { stage: 1, cell_ids: ['a'] },
      { stage: 2, cell_ids: ['b', 'c'] },
    ],
    ...LIMITS,
  })
})
