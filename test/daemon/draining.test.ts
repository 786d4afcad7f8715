import { EventEmitter } from 'node:events'
import t from 'tap'
import { countAnswers, createStopSignal } from '../../daemon/draining.ts'
import type { Handle } from '../../daemon/services/link.ts'

/** A daemon that is asked to leave, with answers that the test ends. */
const set = () => {
  const leave = new AbortController()
  const stop = new AbortController()
  const answers = countAnswers(() => {})
  let endWait: () => void = () => {}
  const wait = () =>
    new Promise<void>(resolve => {
      endWait = resolve
    })
  const signal = createStopSignal({
    leave: leave.signal,
    signal: stop.signal,
    answers,
    drainSeconds: 30,
    wait,
  })
  const begin = () => {
    const response = new EventEmitter()
    answers.handle({} as Parameters<Handle>[0], response as unknown as Parameters<Handle>[1])
    return response
  }
  const ended = new Promise<void>(resolve => signal.addEventListener('abort', () => resolve()))
  return { leave, stop, signal, begin, ended, late: () => endWait() }
}

t.test('a daemon that is asked to stop', async t => {
  t.test('exits at once when no answer runs', async t => {
    const { leave, ended, signal } = set()
    leave.abort()
    await ended
    t.ok(signal.aborted)
  })

  t.test('waits for its running answers', async t => {
    const { leave, signal, begin, ended } = set()
    const [one, two] = [begin(), begin()]
    leave.abort()
    one.emit('close')
    await new Promise(setImmediate)
    t.notOk(signal.aborted)
    two.emit('close')
    await ended
    t.ok(signal.aborted)
  })

  t.test('waits no longer than its time', async t => {
    const { leave, begin, ended, late, signal } = set()
    begin()
    leave.abort()
    late()
    await ended
    t.ok(signal.aborted)
  })

  t.test('does not wait when it is asked twice', async t => {
    const { leave, stop, begin, signal } = set()
    begin()
    leave.abort()
    stop.abort()
    t.ok(signal.aborted)
  })
})
