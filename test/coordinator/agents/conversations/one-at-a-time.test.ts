import t from 'tap'
import { oneAtATime } from '../../../../coordinator/agents/conversations/one-at-a-time.ts'

const never = new AbortController().signal

const gate = () => Promise.withResolvers<void>()

t.test('work on one key runs in order, and on different keys concurrently', async t => {
  const { run } = oneAtATime(10)
  const log: string[] = []
  const hold = gate()
  const first = run('a', never, async () => {
    log.push('a1')
    await hold.promise
    log.push('a1 done')
  })
  const second = run('a', never, async () => void log.push('a2'))
  await run('b', never, async () => void log.push('b'))
  t.strictSame(log, ['a1', 'b'])
  hold.resolve()
  await Promise.all([first, second])
  t.strictSame(log, ['a1', 'b', 'a1 done', 'a2'])
})

t.test('a failure lets the next task begin', async t => {
  const { run } = oneAtATime(10)
  const failing = run('a', never, () => Promise.reject(new Error('x')))
  const next = run('a', never, async () => 'fine')
  await t.rejects(failing, { message: 'x' })
  t.equal(await next, 'fine')
})

t.test('the number of waiting tasks is limited', async t => {
  const { run } = oneAtATime(1)
  const hold = gate()
  const first = run('a', never, () => hold.promise)
  const second = run('a', never, async () => 2)
  await t.rejects(
    run('a', never, async () => 3),
    { code: 'rate_limited' },
  )
  hold.resolve()
  await first
  t.equal(await second, 2)
})

t.test('a task that leaves while waiting gives up its place and never runs', async t => {
  const { run } = oneAtATime(1)
  const hold = gate()
  const leaving = new AbortController()
  let ran = false
  const first = run('a', never, () => hold.promise)
  const left = run('a', leaving.signal, async () => {
    ran = true
  })
  leaving.abort()
  await t.rejects(left, { code: 'client_closed' })
  const next = run('a', never, async () => 'fine')
  hold.resolve()
  await first
  t.equal(await next, 'fine')
  t.notOk(ran)
})
