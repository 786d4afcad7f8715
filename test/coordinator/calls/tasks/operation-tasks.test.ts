import t, { type Test } from 'tap'
import * as z from 'zod'
import type { Answerer, Delivery } from '../../../../coordinator/calls/tasks/delivery.ts'
import type { Mail } from '../../../../coordinator/calls/tasks/mailbox.ts'
import { createOperationTasks } from '../../../../coordinator/calls/tasks/operation-tasks.ts'
import { agentMessage, textPart } from '../../../../coordinator/calls/tasks/parts.ts'
import type { TaskRun } from '../../../../coordinator/calls/tasks/task-run.ts'
import type { TaskState } from '../../../../coordinator/calls/tasks/task-state.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

const run: TaskRun = {
  taskId: 'a',
  tenantId: 'home',
  keyId: undefined,
  requestId: 'req',
  operationId: 'x',
  input: {},
  cellId: undefined,
  waits: undefined,
  gateRequestId: 'gate_1',
  audited: false,
  createdAt: 0,
}

const input = z.strictObject({})
const OPERATIONS = [
  { id: 'x', effect: 'read', input },
  { id: 'lasting', effect: 'read', input, resumable: true },
]

const refuse = ({ access }: { access: string }, { key }: { key: unknown }): void => {
  throw new ShoalError('forbidden', `${access} ${JSON.stringify(key)}`)
}

/** Operations as tasks, over fakes; a request at a gate has the state that the scene gives it. */
const scene = (t: Pick<Test, 'teardown'>, state: string, tasks: object = {}) => {
  const withdrawn: string[] = []
  let answer: Answerer = async () => undefined
  const gates = {
    get: async (id: string) => ({ id, state, expiresAt: 1, approvalExpiresAt: 1 }),
    withdraw: async (id: string) => void withdrawn.push(id),
  }
  const serve = (given: Answerer): void => {
    answer = given
  }
  const made = createOperationTasks({
    tasks: { serve, ...tasks } as never,
    readerOf: () => ({}) as never,
    views: () => ({ gates, now: () => 0 }) as never,
    operations: OPERATIONS as never,
    resolveReferences: async (_operation, input, cellId) => ({ input, cellId }),
    pipeline: { authorize: refuse, perform: async () => undefined },
    events: { subscribe: () => () => {} },
    logger: { warn: () => {} },
    runtime: systemRuntime,
  })
  t.teardown(made.close)
  const { cancel, prepare } = made
  return { answer: (delivery: Delivery) => answer(delivery), cancel, prepare, withdrawn }
}

const delivery = (kind: Mail['kind'], own: Partial<TaskRun> = {}): Delivery => {
  const message = agentMessage('a', 'ctx', [textPart('which one?')])
  const status = { state: 'input-required', message, timestamp: undefined }
  const task = { id: 'a', contextId: 'ctx', status, artifacts: [], history: [], metadata: {} }
  const asked = { ...run, ...own }
  const body = kind === 'message' ? { message, run: asked } : undefined
  return {
    mail: { taskId: 'a', tenantId: 'home', kind, actor: 'coordinator', body },
    task: task as never,
    run: asked,
  }
}

t.test('mail starts the turn that its task can take', async t => {
  const cases: [...Parameters<typeof delivery>, string, TaskState | undefined][] = [
    ['resume', {}, 'pending', 'failed'],
    ['resume', { operationId: 'lasting' }, 'pending', 'working'],
    ['decision', {}, 'pending', undefined],
    ['decision', {}, 'approved', 'working'],
    ['decision', {}, 'withdrawn', 'rejected'],
    ['message', {}, 'pending', 'working'],
    ['message', { operationId: undefined }, 'pending', 'input-required'],
    ['message', { operationId: 'gone' }, 'pending', 'rejected'],
  ]
  const found = cases.map(([kind, own, state]) => scene(t, state).answer(delivery(kind, own)))
  t.strictSame(
    (await Promise.all(found)).map(opening => opening?.state),
    cases.map(([, , , state]) => state),
  )
})

t.test('a message that no process has routed leads to the same question again', async t => {
  const { answer } = scene(t, 'pending')
  const opening = await answer(delivery('message', { operationId: undefined }))
  t.match(opening?.more?.parts, [textPart('which one?')])
})

t.test('a task that reaches a gate while it is cancelled withdraws its request', async t => {
  let isCancelled = false
  const { cancel, withdrawn } = scene(t, 'pending', {
    get: async () => ({}),
    run: async () => ({ ...run, gateRequestId: isCancelled ? 'gate_1' : undefined }),
    cancel: async () => {
      isCancelled = true
      return {}
    },
  })
  const key = { id: 'key', personId: 'ada', kind: 'person', roles: [] }
  await cancel('a', { key: key as never, tenantId: 'home', requestId: 'req' })
  t.strictSame(withdrawn, ['gate_1'])
})

t.test('the pipeline authorizes a call before a task is prepared for it', async t => {
  const { prepare } = scene(t, 'pending')
  const operation = { id: 'x', access: 'operator' } as never
  const caller = { key: { id: 'key' } as never, tenantId: 'home', requestId: 'req' }
  await t.rejects(prepare({ operation, input: {}, caller }), {
    code: 'forbidden',
    message: 'operator {"id":"key"}',
  })
})
