import t from 'tap'
import type { NewTask } from '../../../../coordinator/calls/tasks/new-task.ts'
import { artifactOf, dataPart } from '../../../../coordinator/calls/tasks/parts.ts'
import { taskTransitionTable } from '../../../../coordinator/calls/tasks/task-transition.table.ts'
import { createTasks } from '../../../../coordinator/calls/tasks/tasks.ts'
import {
  findBrokenTransition,
  sealTransition,
} from '../../../../coordinator/calls/tasks/transition.ts'
import type { TurnWork } from '../../../../coordinator/calls/tasks/turn.ts'
import type { EventDraft } from '../../../../coordinator/kernel/events/bus.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { newOwnership } from '../../../support/replicas.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const MAX_RUNNING_PER_TENANT = 500

const quiet = { warn: () => {}, error: () => {} }

/** The key that makes the tasks. */
const HOME = { tenantId: 'home', keyId: 'key', personId: undefined, operationIds: [] }

const newTask = (work: TurnWork, tenantId = 'home'): NewTask => ({
  run: {
    tenantId,
    keyId: 'key',
    requestId: 'req',
    operationId: 'x',
    input: {},
    cellId: undefined,
    audited: false,
  },
  work,
})

const scene = async (t: Parameters<typeof temporaryStore>[0], now = () => Date.now()) => {
  const store = await temporaryStore(t)
  const published: string[] = []
  const addEvents = async (_trx: unknown, drafts: readonly EventDraft[]) => {
    for (const { type } of drafts) published.push(type)
  }
  const ownership = newOwnership(store.ledger)
  const tasks = createTasks({
    store,
    ownership,
    addEvents,
    logger: quiet,
    now,
    runtime: systemRuntime,
  })
  return { store, published, tasks }
}

const complete: TurnWork = async turn => turn.status('completed')

t.test('a reported task state is already in the store', async t => {
  const { tasks } = await scene(t)
  const { taskId, start } = await tasks.begin(
    newTask(async turn => {
      turn.status('working')
      turn.artifact(artifactOf('result', [dataPart({ a: 1 })]))
      turn.status('completed')
    }),
  )
  const { task, events } = await tasks.follow(taskId, HOME)
  t.equal(task.status.state, 'submitted')
  start()
  const order: string[] = []
  for (let event = await events.next(); event !== undefined; event = await events.next()) {
    order.push(event.kind)
    const stored = await tasks.get(taskId, HOME)
    if (event.kind === 'artifact') t.equal(stored.artifacts.length, 1)
  }
  t.strictSame(order, ['status', 'artifact', 'status'])
  await tasks.close()
})

t.test(
  'a task whose work throws or ends without a state has failed, and nothing follows an end',
  async t => {
    const { tasks, published } = await scene(t)
    for (const work of [
      async () => {
        throw new Error('inside')
      },
      async () => {},
      async turn => {
        turn.status('failed')
        turn.status('completed')
      },
    ] satisfies TurnWork[]) {
      const { taskId, start } = await tasks.begin(newTask(work))
      const { events } = await tasks.follow(taskId, HOME)
      start()
      while ((await events.next()) !== undefined);
      const task = await tasks.get(taskId, HOME)
      t.equal(task.status.state, 'failed')
      t.notOk(JSON.stringify(task).includes('inside'))
    }
    t.equal(published.filter(type => type === 'shoal.task.failed').length, 3)
    await tasks.close()
  },
)

t.test('a changed, moved or removed row of the history is detected', async t => {
  const { tasks, store } = await scene(t)
  const { taskId, start } = await tasks.begin(newTask(complete))
  const { events } = await tasks.follow(taskId, HOME)
  start()
  while ((await events.next()) !== undefined);
  const rows = await tasks.transitions(taskId)
  t.equal(rows.length, 2)
  t.equal(findBrokenTransition(rows), undefined)
  t.equal(findBrokenTransition(rows.map(row => ({ ...row, actor: 'somebody' }))), 1)
  t.equal(findBrokenTransition(rows.toReversed()), 1)
  t.equal(findBrokenTransition(rows.slice(1)), 1)
  const { prev: _, hash: last = '', ...change } = { ...rows[1], taskId, seq: 3, at: 3, actor: 'a' }
  const later = sealTransition({ ...change, toState: 'paused' as 'working' }, last)
  await store.ledger.sealed.write(trx =>
    trx.insertInto('task_transitions').values(taskTransitionTable.write(later)).execute(),
  )
  const all = await tasks.transitions(taskId)
  t.equal(all[2]?.toState, 'paused', 'a state of a later version is read')
  t.equal(findBrokenTransition(all), undefined)
  await tasks.close()
})

t.test('the newest states of many tasks are read in batches', async t => {
  const { tasks } = await scene(t)
  const ids: string[] = []
  for (const state of ['completed', 'failed'] as const) {
    const { taskId, start } = await tasks.begin(
      newTask(async turn => {
        turn.status('working')
        turn.status(state)
      }),
    )
    const { events } = await tasks.follow(taskId, HOME)
    start()
    while ((await events.next()) !== undefined);
    ids.push(taskId)
  }
  const rows = await tasks.newestTransitions(ids, 2)
  t.strictSame(
    ids.map(id => rows.get(id)?.map(row => row.toState)),
    [
      ['working', 'completed'],
      ['working', 'failed'],
    ],
  )
  t.equal((await tasks.newestTransitions([], 2)).size, 0)
  await tasks.close()
})

t.test('old ended tasks are deleted completely; running ones are kept', async t => {
  let at = 1_000_000
  const { tasks, store } = await scene(t, () => at)
  const done = await tasks.begin(newTask(complete))
  const { events } = await tasks.follow(done.taskId, HOME)
  done.start()
  while ((await events.next()) !== undefined);
  const open = await tasks.begin(newTask(complete))
  at += 1000
  t.equal(await tasks.drop(at), 1)
  await t.rejects(tasks.get(done.taskId, HOME), { code: 'not_found' })
  t.ok(await tasks.get(open.taskId, HOME))
  for (const table of ['task_runs', 'task_transitions'] as const) {
    const rows = await store.ledger.read.selectFrom(table).select('task_id').execute()
    t.ok(
      rows.every(({ task_id }) => task_id === open.taskId),
      table,
    )
  }
  await tasks.close()
})

t.test('one tenant cannot take every place', async t => {
  const { tasks } = await scene(t)
  const never: TurnWork = ({ signal }) =>
    new Promise(stop => signal.addEventListener('abort', () => stop()))
  const all = Array.from({ length: MAX_RUNNING_PER_TENANT }, () => tasks.begin(newTask(never)))
  for (const { start } of await Promise.all(all)) start()
  await t.rejects(tasks.begin(newTask(never)), { code: 'rate_limited' })
  const other = await tasks.begin(newTask(complete, 'other'))
  t.ok(other.taskId)
  await tasks.close()
  await t.rejects(tasks.begin(newTask(never)), { code: 'draining' })
})

t.test('a store that fails once delays no task and loses nothing', async t => {
  const { store, tasks } = await scene(t)
  const { sealed } = store.ledger
  const { taskId, start } = await tasks.begin(newTask(complete))
  const { events } = await tasks.follow(taskId, HOME)
  let failures = 0
  store.ledger.sealed = {
    write: (work, options) =>
      failures++ > 0 ? sealed.write(work, options) : Promise.reject(new Error('the disk is full')),
  }
  start()
  await t.rejects(events.next(), { message: 'the disk is full' })
  await waitUntil('the task has ended', () => !tasks.isRunning(taskId))
  t.equal((await tasks.get(taskId, HOME)).status.state, 'completed')
  await tasks.close()
})
