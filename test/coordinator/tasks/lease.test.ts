import t from 'tap'
import { LEASE_MS } from '../../../coordinator/tasks/lease.ts'
import { TaskState } from '../../../coordinator/tasks/task-state.ts'
import { createTasks } from '../../../coordinator/tasks/tasks.ts'
import type { Turn, Work } from '../../../coordinator/tasks/turn.ts'
import { temporaryStore } from '../store/temporary.ts'
import { HOME, newTask } from './fixtures.ts'

/** Two processes on one store, with one clock. */
const scene = async (t: Parameters<typeof temporaryStore>[0]) => {
  const store = await temporaryStore(t)
  const clock = { now: 1_800_000_000_000 }
  const parts = {
    ...{ store, publish: () => ({}) as never, now: () => clock.now },
    logger: { warn: () => {}, error: () => {} },
  }
  return { clock, store, one: createTasks(parts), two: createTasks(parts) }
}

/** Work that says when it has begun and ends when it is told to. */
const held = () => {
  const begun = Promise.withResolvers<Turn>()
  const release = Promise.withResolvers<void>()
  const ended = Promise.withResolvers<void>()
  const work: Work = async turn => {
    begun.resolve(turn)
    await release.promise
    turn.status(TaskState.TASK_STATE_COMPLETED)
    ended.resolve()
  }
  return { work, begun: begun.promise, release: release.resolve, ended: ended.promise }
}

const fail: Work = async turn => turn.status(TaskState.TASK_STATE_FAILED)

t.test('a process lives as far as it could say so: what was not stored does not count', async t => {
  const { one, two } = await scene(t)
  const { work, begun, release, ended } = held()
  const prepare = async () => {
    throw new Error('not stored')
  }
  await t.rejects(one.begin({ ...newTask(work), prepare }), { message: 'not stored' })
  const { start } = await one.begin(newTask(work))
  start()
  await begun
  t.strictSame(await two.cutOff(), [])
  release()
  await ended
  await one.close()
  await two.close()
})

t.test('what a process that lives runs is not taken by another one', async t => {
  const { one, two } = await scene(t)
  const { work, begun, release } = held()
  const { taskId, start } = await one.begin(newTask(work))
  start()
  await begun
  t.strictSame(await two.cutOff(), [])
  await t.rejects(two.goOn(taskId, 'home', { work: fail }), { code: 'conflict' })
  const { events } = await one.follow(taskId, HOME)
  release()
  while ((await events.next()) !== undefined);
  t.equal((await two.get(taskId, HOME)).status?.state, TaskState.TASK_STATE_COMPLETED)
  await one.close()
  await two.close()
})

t.test(
  'what a process ran that is gone is another one’s, and the first cannot undo it',
  async t => {
    const { one, two, clock } = await scene(t)
    const { work, begun, release, ended } = held()
    const { taskId, start } = await one.begin(newTask(work))
    start()
    const turn = await begun
    clock.now += LEASE_MS + 1
    t.strictSame(
      (await two.cutOff()).map(run => run.taskId),
      [taskId],
    )
    const { events } = await two.follow(taskId, HOME)
    const next = await two.goOn(taskId, 'home', { work: fail })
    next.start()
    while ((await events.next()) !== undefined);
    const stopped = new Promise(done => turn.signal.addEventListener('abort', done))
    release()
    await ended
    await stopped
    t.equal((await one.get(taskId, HOME)).status?.state, TaskState.TASK_STATE_FAILED)
    t.strictSame(await one.cutOff(), [])
    await one.close()
    await two.close()
  },
)

t.test('a process that stops in order leaves its tasks at once', async t => {
  const { one, two } = await scene(t)
  const { work, begun } = held()
  const { taskId, start } = await one.begin(newTask(work))
  start()
  await begun
  await one.close()
  t.strictSame(
    (await two.cutOff()).map(run => run.taskId),
    [taskId],
  )
  await two.close()
})

t.test('of two processes that go on with a task that waits, one does', async t => {
  const { one, two } = await scene(t)
  const ask: Work = async turn =>
    turn.status(TaskState.TASK_STATE_AUTH_REQUIRED, { run: { waits: 'gate' } })
  const { taskId, start } = await one.begin(newTask(ask))
  const { events } = await one.follow(taskId, HOME)
  start()
  await events.next()
  let done = 0
  const carryOut: Work = async turn => {
    done++
    turn.status(TaskState.TASK_STATE_COMPLETED)
  }
  const free = async () => {
    while (one.isRunning(taskId)) await new Promise(setImmediate)
  }
  await free()
  const both = await Promise.allSettled(
    [one, two].map(tasks => tasks.goOn(taskId, 'home', { work: carryOut })),
  )
  for (const each of both) if (each.status === 'fulfilled') each.value.start()
  t.equal(both.filter(({ status }) => status === 'fulfilled').length, 1)
  await one.close()
  await two.close()
  t.equal(done, 1)
})
