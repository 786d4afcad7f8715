import t from 'tap'
import { withChangeHook } from '../../../coordinator/store/change-hook.ts'
import { TaskState } from '../../../coordinator/tasks/task-state.ts'
import { createTasks } from '../../../coordinator/tasks/tasks.ts'
import type { Work } from '../../../coordinator/tasks/turn.ts'
import { temporaryStore } from '../store/temporary.ts'
import { HOME, newTask } from './fixtures.ts'

const ask: Work = async turn => {
  turn.status(TaskState.TASK_STATE_WORKING)
  turn.status(TaskState.TASK_STATE_INPUT_REQUIRED, { run: { waits: 'input' } })
}
const complete: Work = async turn => turn.status(TaskState.TASK_STATE_COMPLETED)

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
      store: { revisions, ledger: own },
      ...{ publish: () => ({}) as never, now: () => clock.now },
      logger: { warn: () => {}, error: () => {} },
    })
    t.teardown(() => tasks.close())
    return tasks
  }
  const [one, two] = [open(delayed), open(ledger)]
  const over = async (taskId: string) => {
    while (two.isRunning(taskId)) await new Promise(setImmediate)
  }
  const { taskId, start } = await two.begin(newTask(ask))
  start()
  await over(taskId)
  /** While one is about to cancel it, the other goes on with it. */
  const cancelWhile = (work: Work) => {
    meanwhile = async () => {
      clock.now++
      const next = await two.goOn(taskId, 'home', { work })
      next.start()
      await over(taskId)
    }
    return one.cancel(taskId, 'home', 'key:b')
  }
  return { one, taskId, cancelWhile }
}

t.test('a task that moves while it is cancelled is cancelled where it has moved to', async t => {
  const { one, taskId, cancelWhile } = await scene(t)
  t.equal((await cancelWhile(ask)).status?.state, TaskState.TASK_STATE_CANCELED)
  t.equal((await one.get(taskId, HOME)).status?.state, TaskState.TASK_STATE_CANCELED)
})

t.test('one that comes to its end meanwhile has that end', async t => {
  const { one, taskId, cancelWhile } = await scene(t)
  await t.rejects(cancelWhile(complete), { code: 'conflict' })
  t.equal((await one.get(taskId, HOME)).status?.state, TaskState.TASK_STATE_COMPLETED)
})
