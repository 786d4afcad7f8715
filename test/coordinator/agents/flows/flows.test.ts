import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { findTriggerCycle } from '../../../../coordinator/agents/flows/find-trigger-cycle.ts'
import type { Flows } from '../../../../coordinator/agents/flows/flows.ts'
import { startOnEvents } from '../../../../coordinator/agents/flows/operations/start-on-events.ts'
import { takeRun, writeRun } from '../../../../coordinator/agents/flows/run-store.ts'
import type { Views } from '../../../../coordinator/assembly/coordinator.ts'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import { defineSkill } from '../../../../coordinator/kernel/declaration/skill.ts'
import type { CloudEvent } from '../../../../coordinator/kernel/events/bus.ts'
import type { Job } from '../../../../coordinator/kernel/queue/job.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { a2aScene, askUntil, caller } from '../../../support/a2a.ts'

const MOST_OPEN_RUNS = 200

const output = z.object({ value: z.string() })
const base = { name: 'Test', tags: ['test'], access: 'operator' as const, output }

/** Skills that note their calls; `fail` refuses. */
const testSkills = (calls: string[]) => [
  defineSkill({
    group: 'fleet',
    ...base,
    id: 'finance-only',
    description: 'Answer only finance.',
    roles: ['finance'],
    effect: 'read',
    input: z.strictObject({}),
    run: () => ({ value: 'secret' }),
  }),
  defineSkill({
    group: 'fleet',
    ...base,
    id: 'note',
    description: 'Note a value.',
    effect: 'write',
    input: z.strictObject({ value: z.string().max(50) }),
    run: ({ value }) => {
      calls.push(value)
      if (value === 'fail') throw new ShoalError('conflict', 'it must not be')
      return { value }
    },
  }),
]

const note = (id: string, value: unknown = id, more: object = {}) => ({
  id,
  skill: 'note',
  input: { value },
  ...more,
})

const FLOWS = {
  straight: {
    description: 'Nightly check of the stock.',
    team: 'ops',
    cost_eur: 0.5,
    steps: [
      note('a'),
      note('b', { $from: 'a.value' }),
      note('never', 'never', { when: [{ from: 'a.value', is: 'z' }] }),
      note('c', 'c', { when: [{ from: 'a.value', is: 'a' }] }),
    ],
  },
  failing: {
    steps: [
      note('a', 'a', { compensate: { skill: 'note', input: { value: 'undo a' } } }),
      note('soft', 'fail', { on_failure: 'continue' }),
      note('b', 'b', { compensate: { skill: 'note', input: { value: { $from: 'b.value' } } } }),
      note('hard', 'fail'),
      note('late'),
    ],
  },
  secret: { steps: [{ id: 'a', skill: 'finance-only' }] },
  gated: {
    steps: [
      note('a', 'a', { compensate: { skill: 'note', input: { value: 'undo a' } } }),
      { id: 'people', gate: 'gate.minor-release-approve', summary: 'Go on?' },
      note('b'),
    ],
  },
}

const scene = async (t: Test) => {
  const calls: string[] = []
  const synergies = { nightly: { flows: ['straight', 'gated'] } }
  const config = { flows: FLOWS, synergies }
  const opened = await a2aScene(t, { config, moreSkills: testSkills(calls) })
  const { json } = caller(opened.url, opened.demo.operator)
  const start = async (flow: string) => (await json(`/v1/flows/${flow}/runs`, {})).json.run_id
  const until = async (id: string, state: string) =>
    (
      await askUntil(
        () => json(`/v1/flows/runs/${id}`),
        ({ json }) => json.state === state,
      )
    ).json
  const approve = (id: string, verb = 'approve') =>
    caller(opened.url, opened.demo.approver_a).json(`/v1/gates/requests/${id}/${verb}`, {})
  return { ...opened, calls, json, start, until, approve }
}

t.test('steps run in order, with conditions and outputs of earlier ones', async t => {
  const { calls, start, until, json } = await scene(t)
  const run = await until(await start('straight'), 'done')
  t.strictSame(calls, ['a', 'a', 'c'])
  t.strictSame(
    run.calls.map(({ step_id, state }: { step_id: string; state: string }) => [step_id, state]),
    [
      ['a', 'done'],
      ['b', 'done'],
      ['never', 'skipped'],
      ['c', 'done'],
    ],
  )
  const board = (await json('/v1/skills/get_queue_board', {})).json
  t.match(board, { data_state: 'live', by_team: [{ team: 'ops', cost_eur: 0.5 }] })
  t.match((await json('/v1/skills/flow-status', {})).json, {
    data_state: 'live',
    runs: 1,
    by_state: { done: 1 },
    by_flow: [{ flow_id: 'straight', done: 1 }],
  })
})

t.test('a failure compensates the completed steps in reverse order', async t => {
  const { calls, start, until, json } = await scene(t)
  const run = await until(await start('failing'), 'failed')
  t.strictSame(calls, ['a', 'fail', 'b', 'fail', 'b', 'undo a'])
  t.equal(run.reason, 'hard: conflict: it must not be')
  const path = `/v1/queue/jobs/${run.job_id}`
  const isOver = ({ json }: { json: { state: string } }) => json.state !== 'running'
  const job = await askUntil(() => json(path), isOver)
  t.match(job.json, { state: 'dead', reason: `failed: ${run.reason}` }, 'the job is not done')
  await json(`${path}/retry`, {})
  const again = await askUntil(
    () => json(path),
    ({ json }) => json.state === 'dead',
  )
  t.match(again.json, { reason: `failed: ${run.reason}` })
  t.equal(calls.length, 6, 'a retry runs no step again')
})

t.test('a gate holds a run until people have decided', async t => {
  const { calls, start, until, approve, json } = await scene(t)
  const id = await start('gated')
  const waiting = await until(id, 'waiting')
  const request = waiting.calls[1].gate_request_id
  t.match((await json(`/v1/gates/requests/${request}`)).json, { summary: 'Go on?' })
  await approve(request)
  await until(id, 'done')
  t.strictSame(calls, ['a', 'b'])

  const other = await start('gated')
  await approve((await until(other, 'waiting')).calls[1].gate_request_id, 'reject')
  t.match((await until(other, 'failed')).reason, /people: request .* is blocked/)
  t.strictSame(calls.slice(2), ['a', 'undo a'])
})

t.test('a decision at its gate continues a run at once', async t => {
  const { start, until, approve, store } = await scene(t)
  const id = await start('gated')
  const { job_id, calls } = await until(id, 'waiting')
  // its next check is far away
  await askUntil(
    () =>
      store.ledger.free.write(trx =>
        trx
          .updateTable('jobs')
          .set({ due_at: Date.now() + 3_600_000 })
          .where('id', '=', job_id)
          .where('state', '=', 'queued')
          .executeTakeFirst(),
      ),
    ({ numUpdatedRows }) => numUpdatedRows === 1n,
  )
  await approve(calls[1].gate_request_id)
  await until(id, 'done')
})

t.test('a cancelled run withdraws its request and compensates', async t => {
  const { calls, start, until, json, url, demo } = await scene(t)
  const id = await start('gated')
  const request = (await until(id, 'waiting')).calls[1].gate_request_id
  const foreign = caller(url, demo.stranger)
  t.equal((await foreign.json(`/v1/flows/runs/${id}/cancel`, {})).status, 404)
  t.equal((await json(`/v1/flows/runs/${id}/cancel`, {})).status, 200)
  await until(id, 'cancelled')
  t.strictSame(calls, ['a', 'undo a'])
  t.equal((await json(`/v1/gates/requests/${request}`)).json.state, 'withdrawn')
  t.equal((await json(`/v1/flows/runs/${id}/cancel`, {})).status, 409)
})

t.test('a reader sees the outputs of the skills that they may call', async t => {
  const { url, demo, until } = await scene(t)
  const finance = caller(url, demo.approver_a)
  const { run_id } = (await finance.json('/v1/flows/secret/runs', {})).json
  const run = await until(run_id, 'done')
  const output_withheld = 'this call needs a key with the role finance'
  t.match(run.calls, [{ state: 'done', output: null, output_withheld }])
  t.match((await finance.json(`/v1/flows/runs/${run_id}`)).json.calls, [
    { output: { value: 'secret' }, output_withheld: null },
  ])
})

t.test('the job of an open run is ended only by the command for the run', async t => {
  const { start, until, json } = await scene(t)
  const id = await start('gated')
  const { job_id } = await until(id, 'waiting')
  const job = `/v1/queue/jobs/${job_id}`
  for (const [path, method] of [
    [`${job}/cancel`, 'POST'],
    [job, 'DELETE'],
  ] as const)
    t.match(await json(path, method === 'POST' ? {} : undefined, method), {
      status: 409,
      json: { error: { message: new RegExp(`use "shoal flows cancel ${id}"`) } },
    })
  await json(`/v1/flows/runs/${id}/cancel`, {})
  await until(id, 'cancelled')
  await askUntil(
    () => json(job),
    ({ json }) => json.state === 'done',
  )
  t.equal((await json(job, undefined, 'DELETE')).status, 200)
})

t.test('a worker whose job another one has taken over stores nothing more', async t => {
  const { start, until, approve, store, calls, json } = await scene(t)
  const id = await start('gated')
  const { calls: begun } = await until(id, 'waiting')
  const later = { fence: 1_000_000 } as Job
  const run = await store.ledger.free.write(trx => takeRun(trx, id, later))
  const write = (fence: number) =>
    store.ledger.free.write(trx => writeRun(trx, run, fence, { state: 'done' }, Date.now()))
  await t.rejects(write(1), { message: 'another worker has the run' })
  await approve(begun[1].gate_request_id)
  const job = await askUntil(
    () => json(`/v1/queue/jobs/${run.jobId}`),
    ({ json }) => json.reason === 'another worker has the run',
  )
  t.match(job.json.state, /^(queued|running)$/, 'the job is not lost: it is tried again')
  t.strictSame(calls, ['a'])
})

t.test('a synergy runs its flows one after another', async t => {
  const { calls, until, approve, json } = await scene(t)
  const trigger = (input: object) => json('/v1/skills/synergy-trigger', input)
  t.match((await trigger({ synergy_id: 'nightly' })).json, {
    started: null,
    steps: [{ id: 'straight_a', effect: 'write' }, {}, {}, {}, {}, { effect: null }, {}],
  })
  t.match((await json('/v1/skills/get_synergy_health', {})).json, {
    data_state: 'empty',
    to_load: /--synergy-id nightly --no-dry-run$/,
    health_percent: null,
    configured: 1,
  })
  t.strictSame(calls, [])
  const live = await trigger({ synergy_id: 'nightly', dry_run: false })
  const id = live.json.started.run_id
  const waiting = await until(id, 'waiting')
  t.match((await json('/v1/skills/get_synergy_health', {})).json, { health_percent: 0, total: 1 })
  await approve(waiting.calls.at(-1).gate_request_id)
  await until(id, 'done')
  t.strictSame(calls, ['a', 'a', 'c', 'a', 'b'])
  t.match((await json('/v1/skills/get_synergy_health', {})).json, {
    health_percent: 100,
    synergies: [{ synergy_id: 'nightly', executed: 1 }],
  })
  t.match(await trigger({ synergy_id: 'x' }), {
    status: 422,
    json: { error: { param: 'synergy_id', message: /known: nightly/ } },
  })
})

t.test('an event starts a synergy once, and only one that the key may hear', async t => {
  const listeners: ((event: CloudEvent) => void)[] = []
  const started: string[] = []
  const key = { id: 'k', tenantId: 'demo', roles: ['builder'] }
  const flows = {
    synergies: { watch: { flows: ['straight'], on: 'shoal.gate.requested', key_id: 'k' } },
    synergy: () => ({}),
    start: async (_what: object, _by: object, { onceKey = '' }) => started.push(onceKey),
  }
  startOnEvents({
    runtime: systemRuntime,
    flows: flows as unknown as Flows,
    views: () => ({ keys: { asNow: async () => key } }) as unknown as Views,
    events: {
      subscribe: (_types, listener) => {
        listeners.push(listener)
        return () => {}
      },
    },
    logger: { warn: () => {} },
  })
  const event = (id: string, tenant_id: string) =>
    ({ id, type: 'shoal.gate.requested', data: { tenant_id } }) as CloudEvent
  for (const each of [event('1', 'other'), event('2', 'demo')]) listeners[0]?.(each)
  await setImmediate()
  t.strictSame(started, ['watch:2'])
})

t.test('neither a tenant nor a synergy can fill the queue with runs', async t => {
  const { views, start, json, store } = await scene(t)
  const by = { tenantId: 'demo', keyId: 'k', requestId: 'r', actor: 'key:k' }
  const synergy = views.flows.synergy('nightly')
  await views.flows.start(synergy, by, { mostPerHour: 2, onceKey: 'a' })
  await views.flows.start(synergy, by, { mostPerHour: 2, onceKey: 'b' })
  await views.flows.start(synergy, by, { mostPerHour: 2, onceKey: 'b' })
  await t.rejects(views.flows.start(synergy, by, { mostPerHour: 2, onceKey: 'c' }), {
    code: 'rate_limited',
  })
  await store.ledger.sealed.write(async trx => {
    const row = await trx.selectFrom('flow_runs').selectAll().executeTakeFirstOrThrow()
    const open = Array.from({ length: MOST_OPEN_RUNS }, (_, n) => ({
      ...row,
      id: `run_x${n}`,
      ended_at: null,
    }))
    for (const each of open) await trx.insertInto('flow_runs').values(each).execute()
  })
  const refused = await json('/v1/flows/straight/runs', {})
  t.match(refused, { status: 429, json: { error: { message: /200 runs that have not ended/ } } })
  t.equal(await start('constructor'), undefined)
  t.match(await json('/v1/flows/constructor/runs', {}), { status: 404 })
})

t.test('synergies that start each other are refused', async t => {
  const trigger = (synergy_id: unknown, dry_run?: boolean) => ({
    id: 'a',
    skill: 'synergy-trigger',
    input: { synergy_id, ...(dry_run === undefined ? {} : { dry_run }) },
  })
  const cycle = (one: object, two: object) => {
    const flows = { one: { steps: [one] }, two: { steps: [two] } }
    const synergies = { first: { flows: ['one'] }, second: { flows: ['two'] } }
    const config = CoordinatorConfig.parse({ flows, synergies })
    return findTriggerCycle(config.synergies, config.flows)
  }
  t.strictSame(cycle(trigger('second', false), trigger('first', false)), [
    ...['first', 'second', 'first'],
  ])
  t.strictSame(cycle(trigger({ $from: 'run.id' }, false), note('b')), ['first', 'first'])
  t.equal(cycle(trigger('second', false), trigger('first')), undefined, 'a dry run starts nothing')
})

t.test('a synergy whose steps would have the same name is refused', async t => {
  const flows = { a: { steps: [note('b_c')] }, a_b: { steps: [note('c')] } }
  const synergies = { both: { flows: ['a', 'a_b'] } }
  await t.rejects(a2aScene(t, { config: { flows, synergies }, moreSkills: testSkills([]) }), {
    code: 'config_invalid',
    message: /two steps are named a_b_c/,
  } as never)
})

t.test('a flow is found by its words', async t => {
  const { json } = await scene(t)
  const find = async (query?: string) =>
    (await json('/v1/skills/find-flow', query === undefined ? {} : { query })).json.flows.map(
      ({ flow_id }: { flow_id: string }) => flow_id,
    )
  t.strictSame(await find('nightly STOCK'), ['straight'])
  t.strictSame(await find('people'), ['gated'])
  t.strictSame((await find()).toSorted(), ['failing', 'gated', 'secret', 'straight'])
  t.strictSame(await find('zebra'), [])
})

t.test('a flow that cannot run is refused in the configuration', async t => {
  const faults = (flow: object) =>
    CoordinatorConfig.safeParse({ flows: { x: flow } }).error?.issues.map(({ path }) =>
      path.join('.'),
    )
  t.strictSame(faults({ steps: [note('a', { $from: 'b.value' }), note('b')] }), [
    'flows.x.steps.0.when',
  ])
  t.strictSame(faults({ steps: [note('a'), note('a')] }), ['flows.x.steps.1.id'])
  t.strictSame(faults({ steps: [{ id: 'a' }] }), ['flows.x.steps.0'])
  const unknown = { flows: { x: { steps: [{ id: 'a', skill: 'nowhere' }] } } }
  await t.rejects(a2aScene(t, { config: unknown }), {
    code: 'config_invalid',
    message: 'flows.x.a: no skill nowhere',
  } as never)
})
