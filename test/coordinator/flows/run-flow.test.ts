import t, { type Test } from 'tap'
import { CoordinatorConfig } from '../../../coordinator/config.ts'
import { Flows } from '../../../coordinator/flows/flows.ts'
import { FlowRunner } from '../../../coordinator/flows/run-flow.ts'
import type { StepCaller, StepResult } from '../../../coordinator/flows/step-caller.ts'
import { bootstrap } from '../../../coordinator/keys/bootstrap.ts'
import type { Job } from '../../../coordinator/queue/job.ts'
import { JobError } from '../../../coordinator/queue/job-error.ts'
import type { Queue } from '../../../coordinator/queue/queue.ts'
import { temporaryStore } from '../store/temporary.ts'

const BY = { tenantId: 'demo', keyId: 'k', requestId: 'r', actor: 'key:k' }
const step = (id: string) => ({ id, skill: id, compensate: { skill: `undo-${id}` } })

/** A run whose job is carried on by hand. Calls complete, unless the test answers otherwise. */
const scene = async (t: Test, steps: object[], over: Partial<StepCaller> = {}) => {
  const store = await temporaryStore(t)
  await bootstrap(store)
  const { ledger } = store
  const now = () => Date.now()
  const calls: string[] = []
  const queue = {
    addWithin: async (_trx, { payload }) => ({ id: 'job', payload }) as Job,
    wake: () => {},
  } satisfies Pick<Queue, 'addWithin' | 'wake'>
  const { flows: parsed } = CoordinatorConfig.parse({ flows: { one: { steps } } })
  const flows = new Flows({ ledger, queue, flows: parsed, synergies: {}, now })
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
  /** One claim of the job; returns why it has to be continued later. */
  const carryOn = async (): Promise<string> => {
    const attempt = { job: { fence: ++fence } as Job, signal: new AbortController().signal }
    try {
      await FlowRunner.carryOn({ ledger, caller, now }, id, attempt)
      return 'ended'
    } catch (error) {
      if (!(error instanceof JobError)) throw error
      return error.message
    }
  }
  const cancel = () => flows.cancel(id, 'demo', BY)
  const run = () => flows.run(id, 'demo')
  return { calls, caller, flows, id, carryOn, cancel, run }
}

t.test('a step whose task completed just before the cancellation is compensated', async t => {
  const steps = [step('a'), step('b'), step('c')]
  const { calls, caller, carryOn, cancel, run } = await scene(t, steps)
  const { call } = caller
  caller.call = async (request, signal) =>
    request.action.skill === 'b'
      ? { kind: 'waiting', reason: 'waiting for a task', taskId: 'task' }
      : call(request, signal)
  t.equal(await carryOn(), 'waiting for a task')
  caller.look = async () => ({ kind: 'done', output: {} })
  await cancel()
  t.equal(await carryOn(), 'ended')
  t.strictSame(calls, ['a', 'undo-b', 'undo-a'])
  t.match(await run(), { state: 'cancelled' })
})

t.test('a run that is cancelled during its last step is compensated', async t => {
  const { calls, caller, carryOn, cancel, run } = await scene(t, [step('a')])
  const { call } = caller
  caller.call = async (request, signal) => {
    if (!request.action.skill?.startsWith('undo')) await cancel()
    return call(request, signal)
  }
  t.equal(await carryOn(), 'ended')
  t.strictSame(calls, ['a', 'undo-a'])
  t.match(await run(), { state: 'cancelled' })
})
