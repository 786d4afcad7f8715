import t from 'tap'
import { createTasks } from '../../../../coordinator/calls/tasks/tasks.ts'
import type { TurnWork } from '../../../../coordinator/calls/tasks/turn.ts'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { newOwnership } from '../../../support/replicas.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'
import { HOME, newTask, waitingTask } from './fixtures.ts'

/** Tasks on a store that can be told which of the next changes it does not take. */
const scene = async (t: Parameters<typeof temporaryStore>[0]) => {
  const { ledger, revisions } = await temporaryStore(t)
  let until = 0
  const failing = withChangeHook(ledger, async (work, commit) => {
    if (--until === 0) throw new Error('disk full')
    return commit(work)
  })
  const tasks = createTasks({
    ownership: newOwnership(failing),
    store: { revisions, ledger: failing },
    addEvents: async () => {},
    logger: { warn: () => {}, error: () => {} },
    now: Date.now,
    runtime: systemRuntime,
  })
  const free = async (taskId: string) => {
    while (tasks.isRunning(taskId)) await new Promise(setImmediate)
  }
  const failAt = (place: number): void => {
    until = place
  }
  return { tasks, free, failAt }
}

t.test('a cancellation that cannot be stored is reported and takes effect once it can', async t => {
  const { tasks, free, failAt } = await scene(t)
  const begun = Promise.withResolvers<void>()
  const work: TurnWork = async ({ signal }) => {
    begun.resolve()
    await new Promise(done => signal.addEventListener('abort', done))
  }
  const { taskId, start } = await tasks.begin(newTask(work))
  start()
  await begun.promise
  failAt(1)
  await t.rejects(tasks.cancel(taskId, 'home', 'key:b'), { code: 'store_unavailable' })
  await free(taskId)
  t.equal((await tasks.get(taskId, HOME)).status.state, 'canceled')
  await tasks.close()
})

t.test('the cancellation of a waiting task takes effect too', async t => {
  const { tasks, free, failAt } = await scene(t)
  const { id: taskId } = await waitingTask(tasks)
  // the first posts the cancellation
  failAt(2)
  await t.rejects(tasks.cancel(taskId, 'home', 'key:b'), { code: 'store_unavailable' })
  await free(taskId)
  t.equal((await tasks.get(taskId, HOME)).status.state, 'canceled')
  await tasks.close()
})
