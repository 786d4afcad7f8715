import t from 'tap'
import { postMail } from '../../../../coordinator/calls/tasks/mailbox.ts'
import { artifactOf, dataPart, textPart } from '../../../../coordinator/calls/tasks/parts.ts'
import type { Subscription } from '../../../../coordinator/calls/tasks/subscription.ts'
import type { TaskEvent } from '../../../../coordinator/calls/tasks/task.ts'
import { createTasks } from '../../../../coordinator/calls/tasks/tasks.ts'
import type { TurnWork } from '../../../../coordinator/calls/tasks/turn.ts'
import { LEASE_MS } from '../../../../coordinator/kernel/leases/ownership.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { newOwnership } from '../../../support/replicas.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { HOME, newTask } from './fixtures.ts'

/** Two processes on one store, each with its own connections, and one clock. */
const scene = async (t: Parameters<typeof temporaryStore>[0]) => {
  const folder = await temporaryFolder(t)
  const clock = { now: 1_800_000_000_000 }
  const parts = {
    addEvents: async () => {},
    now: () => clock.now,
    runtime: systemRuntime,
    logger: { warn: () => {}, error: () => {} },
  }
  const open = async () => {
    const store = await temporaryStore(t, folder, { pollMilliseconds: 20, now: () => clock.now })
    const tasks = createTasks({ ...parts, store, ownership: newOwnership(store.ledger) })
    t.teardown(() => tasks.close())
    return { store, tasks }
  }
  // what looks into the store keeps no process alive by itself
  const alive = setInterval(() => {}, 1000)
  t.teardown(() => clearInterval(alive))
  const [one, two] = [await open(), await open()]
  return { clock, one: one.tasks, two: two.tasks, store: two.store }
}

/** Work in steps that a test lets go on; it ends when it is told to stop. */
const stepwise = () => {
  const steps = [Promise.withResolvers<void>(), Promise.withResolvers<void>()] as const
  const begun = Promise.withResolvers<void>()
  const stopped = Promise.withResolvers<void>()
  const work: TurnWork = async turn => {
    turn.signal.addEventListener('abort', () => stopped.resolve())
    turn.status('working')
    begun.resolve()
    await steps[0].promise
    turn.artifact(artifactOf('result', [dataPart({ a: 1 })]))
    turn.status('working', { parts: [textPart('half')] })
    await steps[1].promise
    turn.status('completed')
  }
  return {
    work,
    begun: begun.promise,
    stopped: stopped.promise,
    next: steps.map(step => step.resolve),
  }
}

const eventStateOf = (event: TaskEvent): unknown =>
  event.kind === 'status' ? event.status.state : event.kind

/** The events until this one, without the states that came between two looks. */
const readUntil = async (events: Subscription, last: unknown): Promise<unknown[]> => {
  const seen: unknown[] = []
  for (let event = await events.next(); event !== undefined; event = await events.next()) {
    seen.push(eventStateOf(event))
    if (seen.at(-1) === last) break
  }
  return seen
}

t.test('a task that another process runs is followed to its end', async t => {
  const { clock, one, two } = await scene(t)
  const { work, begun, next } = stepwise()
  const { taskId, start } = await one.begin(newTask(work))
  const { task, events } = await two.follow(taskId, HOME)
  t.equal(task.status.state, 'submitted')
  clock.now++
  start()
  await begun
  t.strictSame(await readUntil(events, 'working'), ['working'])
  clock.now++
  next[0]?.()
  t.strictSame(await readUntil(events, 'working'), ['artifact', 'working'])
  clock.now++
  next[1]?.()
  t.strictSame(await readUntil(events, undefined), ['completed'])
})

t.test('a task of an unreadable state ends its followers, and no others', async t => {
  const { clock, one, two, store } = await scene(t)
  const [damaged, sound] = [stepwise(), stepwise()]
  const [first, second] = [
    await one.begin(newTask(damaged.work)),
    await one.begin(newTask(sound.work)),
  ]
  const { events: failing } = await two.follow(first.taskId, HOME)
  const { events } = await two.follow(second.taskId, HOME)
  const late = setTimeout(() => {
    failing.close()
    events.close()
  }, 10_000)
  clock.now++
  first.start()
  second.start()
  await Promise.all([damaged.begun, sound.begun])
  await readUntil(failing, 'working')
  await store.ledger.sealed.write(trx =>
    trx
      .updateTable('a2a_tasks')
      .set({ status_state: 'TASK_STATE_LATER' as never })
      .where('id', '=', first.taskId)
      .execute(),
  )
  clock.now++
  for (const go of sound.next) go()
  t.equal((await readUntil(events, 'completed')).at(-1), 'completed')
  await t.rejects(readUntil(failing, undefined), { code: 'internal' })
  clearTimeout(late)
  for (const go of damaged.next) go()
})

t.test('states that follow each other within a millisecond are all seen', async t => {
  const { one, two } = await scene(t)
  const { work, begun, next } = stepwise()
  const { taskId, start } = await one.begin(newTask(work))
  const { events } = await two.follow(taskId, HOME)
  const late = setTimeout(() => events.close(), 10_000)
  start()
  await begun
  await readUntil(events, 'working')
  for (const go of next) go()
  const seen = await readUntil(events, 'completed')
  clearTimeout(late)
  t.equal(seen.at(-1), 'completed')
})

t.test('a task is cancelled in the process that runs it, whichever process is called', async t => {
  const { clock, one, two, store } = await scene(t)
  const { work, begun, stopped } = stepwise()
  const { taskId, start } = await one.begin(newTask(work))
  start()
  await begun
  clock.now++
  const task = await two.cancel(taskId, 'home', 'key:b')
  t.equal(task.status.state, 'canceled')
  await stopped
  const last = (await two.transitions(taskId)).at(-1)
  t.match(last, { toState: 'canceled', actor: 'key:b' })
  t.equal((await two.cancel(taskId, 'home', 'key:b')).status.state, task.status.state)
  const open = () => store.ledger.read.selectFrom('task_mail').selectAll().execute()
  await waitUntil('the request is done with', async () => (await open()).length === 0)
})

t.test('a task cancelled while its process was down does not start again', async t => {
  const { clock, one, two, store } = await scene(t)
  const { work, begun } = stepwise()
  const { taskId, start } = await one.begin(newTask(work))
  start()
  await begun
  clock.now += LEASE_MS + 1
  two.serve(async () => t.fail('it begins again') as never)
  const mail = {
    taskId,
    tenantId: 'home',
    kind: 'cancel',
    actor: 'key:b',
    body: undefined,
  } as const
  await store.ledger.sealed.write(trx => postMail(trx, mail, clock.now))
  await Promise.all([two.look(), two.look()])
  t.equal((await two.get(taskId, HOME)).status.state, 'canceled')
})

t.test('a follower of a task is notified even when another process takes it over', async t => {
  const { clock, one, two } = await scene(t)
  const { work, next, stopped } = stepwise()
  const { taskId, start } = await one.begin(newTask(work))
  const { events } = await one.follow(taskId, HOME)
  start()
  await readUntil(events, 'working')
  clock.now += LEASE_MS + 1
  const ended = Promise.withResolvers<void>()
  two.serve(async () => ({
    state: 'working',
    work: async turn => {
      await ended.promise
      turn.status('completed')
    },
  }))
  await two.look()
  // the first process notices it when it has something to store
  next[0]?.()
  await stopped
  ended.resolve()
  const seen = await readUntil(events, 'completed')
  t.equal(seen.at(-1), 'completed')
})
