import t from 'tap'
import { reconnectMs, restartMs } from '../../daemon/backoff.ts'
import { patient } from '../../daemon/patience.ts'
import type { Service, ServiceContext } from '../../daemon/service.ts'
import { supervise } from '../../daemon/supervisor.ts'
import { logger, newHealth, waitUntilTrue } from './stand-in.ts'

t.test('pauses', async t => {
  t.strictSame(
    [0, 1, 2, 3, 5, 6, 7, 2000].map(restartMs),
    [1000, 2000, 4000, 8000, 32_000, 60_000, 60_000, 60_000],
  )
  t.strictSame(
    [0, 1, 4, 11, 12, 2000].map(n => reconnectMs(n, () => 1)),
    [250, 500, 4000, 4000, 10_000, 10_000],
  )
  t.strictSame(
    [0, 1].map(n => reconnectMs(n, () => 0)),
    [125, 250],
  )
})

/** A service that tells its test what it was given. */
const createRecordedService = (name: string, starts: (() => Promise<void>)[] = []) => {
  const contexts: ServiceContext[] = []
  const service: Service = {
    name,
    start: async context => {
      contexts.push(context)
      await starts[contexts.length - 1]?.()
    },
  }
  return { service, contexts }
}

const run = (services: Service[], now = () => 0) => {
  const stop = new AbortController()
  const health = newHealth()
  const pauses: number[] = []
  const wait = async (milliseconds: number) => {
    pauses.push(milliseconds)
    await new Promise(resolve => setImmediate(resolve))
  }
  const ended = supervise({ services, signal: stop.signal, health, logger, wait, now })
  return { stop, health, pauses, ended, state: (name: string) => health.view()[name]?.state }
}

const hang = (onHang: () => void): Promise<void> => {
  onHang()
  return new Promise(() => {})
}

const failStart = async () => {
  throw new Error('broken')
}

t.test('supervisor', async t => {
  t.test('services start in order, and none waits for another', async t => {
    const order: string[] = []
    const slow: Service = { name: 'slow', start: () => hang(() => order.push('slow')) }
    const quick: Service = { name: 'quick', start: async () => void order.push('quick') }
    const { stop, ended, state } = run([slow, quick])
    await waitUntilTrue(() => state('quick') === 'running')
    t.strictSame(order, ['slow', 'quick'])
    t.equal(state('slow'), 'starting')
    stop.abort()
    await ended
    t.equal(state('slow'), 'stopped')
    t.equal(state('quick'), 'stopped')
  })

  t.test('a failing service restarts after longer and longer pauses', async t => {
    const { service, contexts } = createRecordedService('a', Array(7).fill(failStart))
    const { stop, ended, pauses, state, health } = run([service])
    await waitUntilTrue(() => state('a') === 'waiting')
    t.match(health.view().a?.reason, 'broken; next try in 1 s')
    await waitUntilTrue(() => state('a') === 'running')
    t.strictSame(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000])
    t.equal(contexts.length, 8)
    stop.abort()
    await ended
  })

  t.test('a service that fails later is released first, without effect on the others', async t => {
    const { service, contexts } = createRecordedService('a')
    const other = createRecordedService('b')
    const { stop, ended, state } = run([service, other.service])
    await waitUntilTrue(() => state('a') === 'running')
    contexts[0]?.fail(new Error('later'))
    contexts[0]?.fail(new Error('twice'))
    t.equal(contexts[0]?.signal.aborted, true)
    await waitUntilTrue(() => contexts.length === 2 && state('a') === 'running')
    t.equal(other.contexts.length, 1)
    t.equal(other.contexts[0]?.signal.aborted, false)
    stop.abort()
    await ended
    t.equal(contexts[1]?.signal.aborted, true)
    t.equal(other.contexts[0]?.signal.aborted, true)
  })

  t.test('a minute without failure resets the pauses', async t => {
    let clock = 0
    const { service, contexts } = createRecordedService('a', [failStart, failStart])
    const { stop, ended, pauses, state } = run([service], () => clock)
    await waitUntilTrue(() => state('a') === 'running')
    clock = 60_000
    contexts[2]?.fail(new Error('later'))
    await waitUntilTrue(() => contexts.length === 4)
    t.strictSame(pauses, [1000, 2000, 1000])
    stop.abort()
    await ended
  })

  t.test('a synchronous error counts as a rejection', async t => {
    let tries = 0
    const service: Service = {
      name: 'a',
      start: () => {
        if (tries++ === 0) throw new Error('at once')
        return Promise.resolve()
      },
    }
    const { stop, ended, state } = run([service])
    await waitUntilTrue(() => state('a') === 'running')
    t.equal(tries, 2)
    stop.abort()
    await ended
  })
})

t.test('patience', async t => {
  let answer = (_value: number) => {}
  let calls = 0
  const look = patient(() => {
    calls++
    return new Promise<number>(resolve => {
      answer = resolve
    })
  }, 0)
  t.equal(await look(), null, 'a call that hangs is unknown')
  t.equal(await look(), null, 'and is not made a second time')
  t.equal(calls, 1)
  answer(1)
  await new Promise(resolve => setImmediate(resolve))
  const next = patient(async () => 5, 60_000)
  t.equal(await next(), 5)
  t.equal(await next(), 5, 'a call that came back is made again')
})
