import t from 'tap'
import { LiveTask } from '../../../../coordinator/calls/tasks/live.ts'
import { firstTask } from '../../../../coordinator/calls/tasks/new-task.ts'
import { readTask } from '../../../../coordinator/calls/tasks/task-rows.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'
import { newTask } from './fixtures.ts'

t.test('an event that occurs just after a completed store write is stored too', async t => {
  const { ledger } = await temporaryStore(t)
  const now = () => 1_800_000_000_000
  const { task, run } = firstTask(
    newTask(async () => {}),
    { at: now(), ids: systemRuntime.ids },
  )
  const live = new LiveTask(task, run, {
    runtime: systemRuntime,
    ledger,
    now,
    worker: 'one',
    hooks: undefined,
    addEvents: async () => {},
    onEvent: ({ status }) => {
      if (status.state === 'working') queueMicrotask(() => live.status('completed'))
    },
    onError: (_id, error) => t.fail(error.message),
    logger: { warn: () => {} },
  })
  await ledger.sealed.write(trx => live.saveFirst(trx))
  live.status('working')
  await live.waitForFlush()
  await live.waitForFlush()
  const stored = await readTask(ledger.read, task.id, 'home')
  t.equal(stored.status.state, 'completed')
})
