import t from 'tap'
import { createOperationTasks } from '../../../coordinator/operations/operation-tasks.ts'
import type { TaskRun } from '../../../coordinator/tasks/task-run.ts'
import { ShoalError } from '../../../shared/errors.ts'

const run = (taskId: string, gateRequestId?: string): TaskRun => ({
  ...{ taskId, tenantId: 'home', keyId: 'key', requestId: 'req', operationId: 'x', input: {} },
  ...{ cellId: undefined, waits: undefined, gateRequestId, audited: false, createdAt: 0 },
})

/** What goes on with these tasks, where some of them cannot. */
const scene = (t: Pick<typeof import('tap').default, 'teardown'>, parts: object) => {
  const wentOn: string[] = []
  const withdrawn: string[] = []
  const told: object[] = []
  const tasks = {
    cutOff: async () => [],
    decided: async () => [],
    isRunning: () => false,
    goOn: async (taskId: string) => {
      if (taskId === 'full') throw new ShoalError('rate_limited', '500 tasks run already')
      if (taskId === 'taken') throw new ShoalError('conflict', 'at work')
      wentOn.push(taskId)
      return { start: () => {} }
    },
    ...parts,
  }
  const gates = {
    get: async (id: string) => {
      if (id === 'gone') throw new ShoalError('not_found', `no request ${id}`)
      return { id, state: 'withdrawn', expiresAt: 0 }
    },
    withdraw: async (id: string) => void withdrawn.push(id),
  }
  const made = createOperationTasks({
    tasks: tasks as never,
    readerOf: () => ({}) as never,
    views: () => ({ gates, now: () => 0 }) as never,
    operations: [],
    perform: async () => undefined,
    events: { subscribe: () => () => {} },
    keptDays: 1,
    logger: { warn: (facts: object) => void told.push(facts) },
  })
  t.teardown(made.close)
  return { recover: made.recover, cancel: made.cancel, wentOn, withdrawn, told }
}

t.test('one task that cannot go on after a restart keeps no other from it', async t => {
  const { recover, wentOn, told } = scene(t, {
    cutOff: async () => ['full', 'taken', 'a', 'b'].map(id => run(id)),
    decided: async () => [run('c', 'gate_1')],
  })
  await recover()
  t.strictSame(wentOn, ['a', 'b', 'c'])
  t.match(told, [{ task: 'full', failed: 1 }], 'that another one was quicker is nothing to tell')
})

t.test('one decision that cannot be read keeps no other task at its gate', async t => {
  const { recover, wentOn, told } = scene(t, {
    decided: async () => [run('a', 'gone'), run('full', 'gate_1'), run('b', 'gate_2')],
  })
  await recover()
  t.strictSame(wentOn, ['b'])
  t.match(told, [{ task: 'a', failed: 2 }])
})

t.test('a task that comes to a gate while it is cancelled asks nobody any more', async t => {
  let isCancelled = false
  const { cancel, withdrawn } = scene(t, {
    get: async () => ({}),
    run: async () => run('a', isCancelled ? 'gate_1' : undefined),
    cancel: async () => {
      isCancelled = true
      return {}
    },
  })
  const key = { id: 'key', personId: 'ada', kind: 'person', roles: [] }
  await cancel('a', { key: key as never, tenantId: 'home', requestId: 'req' })
  t.strictSame(withdrawn, ['gate_1'])
})
