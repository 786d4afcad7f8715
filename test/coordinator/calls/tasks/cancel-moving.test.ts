import t from 'tap'
import { createTasks } from '../../../../coordinator/calls/tasks/tasks.ts'
import type { Opening } from '../../../../coordinator/calls/tasks/turn.ts'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { newOwnership } from '../../../support/replicas.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'
import {
  completed,
  createSent,
  HOME,
  requestInput,
  waitingTask,
  waitUntilFree,
} from './fixtures.ts'

/** A task that waits, and two processes: what `meanwhile` does comes before the next change of one. */
const scene = async (t: Parameters<typeof temporaryStore>[0]) => {
  const { ledger, revisions } = await temporaryStore(t)
  const clock = { now: 1_800_000_000_000 }
  let meanwhile: (() => Promise<void>) | undefined
  const delayed = withChangeHook(ledger, async (work, commit) => {
    const first = meanwhile
    meanwhile = undefined
    await first?.()
    return commit(work)
  })
  const open = (own: typeof ledger) => {
    const tasks = createTasks({
      ownership: newOwnership(own),
      store: { revisions, ledger: own },
      addEvents: async () => {},
      now: () => clock.now,
      runtime: systemRuntime,
      logger: { warn: () => {}, error: () => {} },
    })
    t.teardown(() => tasks.close())
    return tasks
  }
  const [one, two] = [open(delayed), open(ledger)]
  const task = await waitingTask(two)
  /** Cancels a task with one coordinator while the other continues it. */
  const cancelWhile = (opening: Opening) => {
    meanwhile = async () => {
      clock.now++
      const { start } = await two.send(task, 'home', createSent(task, opening))
      await start()
      await waitUntilFree(two, task.id)
    }
    return one.cancel(task.id, 'home', 'key:b')
  }
  return { one, taskId: task.id, cancelWhile }
}

t.test('a task that moves to another process while being cancelled is cancelled there', async t => {
  const { one, taskId, cancelWhile } = await scene(t)
  const opening = { state: 'working', work: requestInput } as const
  t.equal((await cancelWhile(opening)).status.state, 'canceled')
  t.equal((await one.get(taskId, HOME)).status.state, 'canceled')
})

t.test('a task that ends in the meantime keeps that end', async t => {
  const { one, taskId, cancelWhile } = await scene(t)
  await t.rejects(cancelWhile(completed), { code: 'conflict' })
  t.equal((await one.get(taskId, HOME)).status.state, 'completed')
})
