import t, { type Test } from 'tap'
import { bootstrap } from '../../../../coordinator/access/keys/bootstrap.ts'
import { Flows } from '../../../../coordinator/agents/flows/flows.ts'
import { FlowRunner } from '../../../../coordinator/agents/flows/run-flow.ts'
import { forgetRuns } from '../../../../coordinator/agents/flows/run-retention.ts'
import type { StepCaller, StepResult } from '../../../../coordinator/agents/flows/step-caller.ts'
import { CoordinatorConfig } from '../../../../coordinator/config.ts'
import type { Job } from '../../../../coordinator/kernel/queue/job.ts'
import { JobError } from '../../../../coordinator/kernel/queue/job-error.ts'
import type { Queue } from '../../../../coordinator/kernel/queue/queue.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const MOST_OUTPUT_BYTES = 256 * 1024

const BY = { tenantId: 'demo', keyId: 'k', requestId: 'r', actor: 'key:k' }
const step = (id: string) => ({ id, skill: id, compensate: { skill: `undo-${id}` } })

/** A run whose job is carried on by hand. Calls complete, unless the test answers otherwise. */
const scene = async (t: Test, steps: object[], over: Partial<StepCaller> = {}) => {
  const store = await temporaryStore(t)
  await bootstrap(store)
  const { ledger } = store
  const clock = { ms: Date.now() }
  const now = () => clock.ms
  const calls: string[] = []
  const queue = {
    addWithin: async (_trx, { payload }) => ({ id: 'job', payload }) as Job,
    hastenWithin: async () => {},
    wake: () => {},
  } satisfies Pick<Queue, 'addWithin' | 'hastenWithin' | 'wake'>
  const { flows: parsed } = CoordinatorConfig.parse({ flows: { one: { steps } } })
  const flows = new Flows({
    ledger,
    queue,
    flows: parsed,
    synergies: {},
    now,
    runtime: systemRuntime,
  })
  const { id } = await flows.start(flows.flow('one'), BY)
  const caller: StepCaller = {
    call: async ({ action }): Promise<StepResult> => {
      calls.push(action.skill ?? '')
      return { kind: 'done', output: { value: action.skill } }
    },
    look: async () => ({ kind: 'go' }),
    withdraw: async () => {},
    ...over,
  }
  let fence = 0
  const waits: number[] = []
  /** One claim of the job; returns why it has to be continued later. */
  const continueRun = async (): Promise<string> => {
    const attempt = { job: { fence: ++fence } as Job, signal: new AbortController().signal }
    try {
      await FlowRunner.continueRun({ ledger, caller, now }, id, attempt)
      return 'ended'
    } catch (error) {
      if (!(error instanceof JobError)) throw error
      waits.push(error.retryAfterSeconds)
      return error.message
    }
  }
  const cancel = () => flows.cancel(id, 'demo', BY)
  const run = () => flows.run(id, 'demo')
  return { calls, caller, clock, flows, ledger, waits, id, continueRun, cancel, run }
}

t.test('a step whose task completed just before the cancellation is compensated', async t => {
  const steps = [step('a'), step('b'), step('c')]
  const { calls, caller, continueRun, cancel, run } = await scene(t, steps)
  const { call } = caller
  caller.call = async (request, signal) =>
    request.action.skill === 'b'
      ? { kind: 'waiting', reason: 'waiting for a task', taskId: 'task' }
      : call(request, signal)
  t.equal(await continueRun(), 'waiting for a task')
  caller.look = async () => ({ kind: 'done', output: {} })
  await cancel()
  t.equal(await continueRun(), 'ended')
  t.strictSame(calls, ['a', 'undo-b', 'undo-a'])
  t.match(await run(), { state: 'cancelled' })
})

t.test('a run that is cancelled during its last step is compensated', async t => {
  const { calls, caller, continueRun, cancel, run } = await scene(t, [step('a')])
  const { call } = caller
  caller.call = async (request, signal) => {
    if (!request.action.skill?.startsWith('undo')) await cancel()
    return call(request, signal)
  }
  t.equal(await continueRun(), 'ended')
  t.strictSame(calls, ['a', 'undo-a'])
  t.match(await run(), { state: 'cancelled' })
})

t.test('a waiting run is checked less and less often, up to once a minute', async t => {
  const { caller, clock, continueRun, waits } = await scene(t, [step('a')])
  caller.call = async () => ({ kind: 'waiting', reason: 'waiting for a task', taskId: 'task' })
  caller.look = async () => ({ kind: 'waiting', reason: 'waiting for a task' })
  for (const seconds of [0, 5, 95, 100, 10_000]) {
    clock.ms += seconds * 1000
    await continueRun()
  }
  t.strictSame(waits, [1, 1, 10, 20, 60])
})

t.test('an output that is too large fails the step that needs it, and no other', async t => {
  const needs = { ...step('c'), input: { value: { $from: 'a.value' } } }
  const { caller, calls, continueRun, flows, id, run } = await scene(t, [
    step('a'),
    step('b'),
    needs,
  ])
  const { call } = caller
  caller.call = async (request, signal) => {
    const result = await call(request, signal)
    return request.action.skill === 'a'
      ? { kind: 'done', output: { value: 'x'.repeat(MOST_OUTPUT_BYTES) } }
      : result
  }
  t.match(await continueRun(), /^failed: c: /)
  t.match(await run(), {
    state: 'failed',
    reason: /^c: the output of a is needed: payload_too_large/,
  })
  t.strictSame(calls, ['a', 'b', 'undo-b', 'undo-a'])
  t.match((await flows.calls(id))[0], { state: 'done', output: undefined, reason: /bytes/ })
})

t.test('the outputs that name an erased person are deleted', async t => {
  const needs = { ...step('b'), input: { value: { $from: 'a.person_id' } } }
  const gate = { id: 'people', gate: 'gate.minor-release-approve' }
  const { caller, continueRun, flows, id, run } = await scene(t, [step('a'), gate, needs])
  const { call } = caller
  caller.call = async (request, signal) => {
    if (request.action.gate !== undefined)
      return { kind: 'waiting', reason: 'waiting at the gate', gateRequestId: 'req' }
    const result = await call(request, signal)
    return request.action.skill === 'a' ? { kind: 'done', output: { person_id: 'p_1' } } : result
  }
  await continueRun()
  t.equal(await flows.erasePerson('other', 'p_1'), 0)
  t.equal(await flows.erasePerson('demo', 'p_1'), 1)
  t.equal((await flows.calls(id))[0]?.output, undefined)
  caller.look = async () => ({ kind: 'done', output: {} })
  t.match(await continueRun(), /^failed: b: /)
  t.match(await run(), { state: 'failed', reason: /named a person who was erased/ })
})

t.test('runs that ended long ago are forgotten in batches', async t => {
  const { clock, continueRun, flows, id, ledger } = await scene(t, [step('a')])
  const forget = () => forgetRuns(ledger, clock.ms, 1)
  clock.ms += 1
  t.equal(await forget(), false, 'an open run stays')
  await continueRun()
  clock.ms += 1
  t.equal(await forget(), true)
  t.equal(await forget(), false)
  await t.rejects(flows.run(id, 'demo'), { code: 'not_found' })
  t.strictSame(await flows.calls(id), [])
})
