import t from 'tap'
import { createTasks } from '../../../../coordinator/calls/tasks/tasks.ts'
import type { Turn, TurnWork } from '../../../../coordinator/calls/tasks/turn.ts'
import { LEASE_MS } from '../../../../coordinator/kernel/leases/ownership.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { newOwnership } from '../../../support/replicas.ts'
import { runTaskHistories } from '../../../support/task-histories.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { createSent, failed, HOME, newTask, waitingTask } from './fixtures.ts'

/** Two processes on one store, with one clock; what is taken over fails. */
const scene = async (t: Parameters<typeof temporaryStore>[0]) => {
  const clock = { now: 1_800_000_000_000 }
  const now = () => clock.now
  const store = await temporaryStore(t, undefined, { now })
  const parts = {
    store,
    addEvents: async () => {},
    now,
    runtime: systemRuntime,
    logger: { warn: () => {}, error: () => {} },
  }
  const taken: string[] = []
  const open = () => {
    const tasks = createTasks({ ...parts, ownership: newOwnership(store.ledger) })
    tasks.serve(async ({ run }) => {
      taken.push(run.taskId)
      return failed
    })
    t.teardown(() => tasks.close())
    return tasks
  }
  return { clock, store, taken, one: open(), two: open() }
}

/** Work that says when it has begun and ends when it is told to. */
const createHeldWork = () => {
  const begun = Promise.withResolvers<Turn>()
  const release = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const work: TurnWork = async turn => {
    begun.resolve(turn)
    await release.promise
    turn.status('completed')
    ended.resolve()
  }
  return { work, begun: begun.promise, release: release.resolve, ended: ended.promise }
}

t.test('a lease renewed in a failed transaction does not count', async t => {
  const { one, two, taken } = await scene(t)
  const { work, begun, release, ended } = createHeldWork()
  const prepare = async () => {
    throw new Error('not stored')
  }
  await t.rejects(one.begin({ ...newTask(work), prepare }), { message: 'not stored' })
  const { start } = await one.begin(newTask(work))
  start()
  await begun
  await two.look()
  t.strictSame(taken, [])
  release()
  await ended
})

t.test('a task of a live process is not taken over by another one', async t => {
  const { one, two, taken } = await scene(t)
  const { work, begun, release } = createHeldWork()
  const { taskId, start } = await one.begin(newTask(work))
  start()
  await begun
  await two.look()
  t.strictSame(taken, [])
  const task = await two.get(taskId, HOME)
  await t.rejects(two.send(task, 'home', createSent(task, failed)), { code: 'conflict' })
  const { events } = await one.follow(taskId, HOME)
  release()
  while ((await events.next()) !== undefined);
  t.equal((await two.get(taskId, HOME)).status.state, 'completed')
})

t.test('a process that has lost a task cannot undo the work of its new owner', async t => {
  const { one, two, clock, taken } = await scene(t)
  const { work, begun, release, ended } = createHeldWork()
  const { taskId, start } = await one.begin(newTask(work))
  start()
  const turn = await begun
  clock.now += LEASE_MS + 1
  await two.look()
  t.strictSame(taken, [taskId])
  const stopped = new Promise(done => turn.signal.addEventListener('abort', done))
  release()
  await ended
  await stopped
  t.equal((await one.get(taskId, HOME)).status.state, 'failed')
  await one.look()
  t.strictSame(taken, [taskId])
})

t.test('a process that stops in order releases its tasks at once', async t => {
  const { one, two, taken } = await scene(t)
  const { work, begun } = createHeldWork()
  const { taskId, start } = await one.begin(newTask(work))
  start()
  await begun
  await one.close()
  await two.look()
  t.strictSame(taken, [taskId])
})

t.test('only one of two processes that read the same mail acts on it', async t => {
  const { one, two, taken } = await scene(t)
  const task = await waitingTask(one)
  await one.send(task, 'home', createSent(task, failed))
  await Promise.all([one.look(), two.look(), one.look(), two.look()])
  const states = (await one.transitions(task.id)).map(row => row.toState)
  t.strictSame(states, ['submitted', 'working', 'input-required', 'failed'])
  t.ok(taken.includes(task.id))
})

t.test('another process reads the mail that a dead process left', async t => {
  const { one, two, taken } = await scene(t)
  const task = await waitingTask(one)
  const { message, ...more } = createSent(task, failed)
  await one.send(task, 'home', { message, ...more })
  const again = await two.send(task, 'home', { message, ...more })
  t.equal(again.again, true)
  await t.rejects(two.send(task, 'home', createSent(task, failed)), {
    code: 'conflict',
    message: `task ${task.id} accepts no message while it is running`,
  })
  await one.close()
  await two.look()
  t.strictSame(taken, [task.id])
  const { history, status } = await two.get(task.id, HOME)
  t.equal(history.at(-1)?.messageId, message.messageId)
  t.equal(status.state, 'failed')
})

t.test('a stalled task blocks no other, and continues later', async t => {
  const { one, taken } = await scene(t)
  const tasks = [await waitingTask(one), await waitingTask(one), await waitingTask(one)]
  for (const task of tasks) await one.send(task, 'home', createSent(task, failed))
  const [, second] = tasks
  let isFull = true
  one.serve(async ({ run }) => {
    if (isFull && run.taskId === second?.id) throw new ShoalError('rate_limited', 'too many')
    taken.push(run.taskId)
    return failed
  })
  await one.look()
  isFull = false
  await one.look()
  t.same(taken.length, 3)
  t.equal(taken.at(-1), second?.id)
})

t.test('no message is lost or processed twice, and no task is stuck, after any crash', async t => {
  const folder = await temporaryFolder(t)
  const { faults } = await runTaskHistories({ folder, tasks: 12, random: Math.random })
  t.strictSame(faults, [])
})
