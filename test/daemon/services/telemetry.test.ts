import t from 'tap'
import { takeSample, telemetryService } from '../../../daemon/services/telemetry.ts'
import { type EngineReport, type HostSample, Sample } from '../../../shared/wire/telemetry.ts'
import { waitUntilTrue } from '../stand-in.ts'

const host: HostSample = {
  cpu_percent: null,
  memory_total_bytes: 2,
  memory_used_bytes: 1,
  disk_total_bytes: 2,
  disk_used_bytes: 1,
  network_received_bytes_per_second: null,
  network_sent_bytes_per_second: null,
}
const engine: EngineReport = {
  weights: 'w',
  kind: 'chat',
  models: ['m'],
  state: 'loading',
  slots: 8,
  slots_busy: 0,
  queued: 0,
  context_length: 2048,
  restarts: 0,
}

/** A telemetry service with a clock that the test moves by calling `timers`. */
const run = async (t: { teardown: (done: () => void) => unknown }, fails = false) => {
  const sent: Sample[] = []
  const timers: { milliseconds: number; call: () => void; cancelled: boolean }[] = []
  const listeners = new Set<() => void>()
  const failures: Error[] = []
  const stop = new AbortController()
  const service = telemetryService({
    uplink: {
      offer: sample => sent.push(sample),
      countDropped: () => 3,
      onReady: listener => {
        listeners.add(listener as () => void)
        return () => listeners.delete(listener as () => void)
      },
    },
    gpus: { sample: () => ({ gpus: [], reason: 'x'.repeat(600) }) },
    host: {
      sample: async () => {
        if (fails) throw new Error('broken')
        return host
      },
    },
    engines: () => [engine],
    onChange: listener => {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    intervalSeconds: 5,
    now: () => 42,
    callAfter: (milliseconds, call) => {
      const timer = { milliseconds, call, cancelled: false }
      timers.push(timer)
      return () => {
        timer.cancelled = true
      }
    },
  })
  await service.start({ signal: stop.signal, fail: error => failures.push(error) })
  t.teardown(() => stop.abort())
  const change = () => {
    for (const listener of listeners) listener()
  }
  return { sent, timers, listeners, failures, stop, change, service }
}

t.test('telemetry', async t => {
  t.test('a sample matches the wire schema, even with a long reason', async t => {
    const { sent } = await run(t)
    await waitUntilTrue(() => sent.length === 1)
    t.strictSame(Sample.parse(sent[0]), sent[0])
    t.match(sent[0], { taken_at: 42, spool_dropped: 3, engines: [engine] })
    t.equal(sent[0]?.gpu_reason?.length, 500)
  })

  t.test('is taken at the start and every interval', async t => {
    const { sent, timers } = await run(t)
    await waitUntilTrue(() => sent.length === 1)
    t.equal(timers[0]?.milliseconds, 5000)
    timers[0]?.call()
    await waitUntilTrue(() => sent.length === 2)
    t.equal(timers[1]?.milliseconds, 5000)
  })

  t.test('a connect and engine changes are reported soon and combined', async t => {
    const { sent, timers, change } = await run(t)
    await waitUntilTrue(() => sent.length === 1)
    for (let i = 0; i < 10; i++) change()
    t.strictSame(
      timers.map(({ milliseconds, cancelled }) => [milliseconds, cancelled]),
      [
        [5000, true],
        [100, false],
      ],
    )
    timers[1]?.call()
    await waitUntilTrue(() => sent.length === 2)
    change()
    t.equal(timers.at(-1)?.milliseconds, 100)
  })

  t.test('a new interval applies at once and does not delay urgent samples', async t => {
    const { sent, timers, change, service, stop } = await run(t)
    await waitUntilTrue(() => sent.length === 1)
    service.setIntervalSeconds(5)
    t.equal(timers.length, 1, 'the same interval changes nothing')
    service.setIntervalSeconds(60)
    t.strictSame(
      timers.map(({ milliseconds, cancelled }) => [milliseconds, cancelled]),
      [
        [5000, true],
        [60_000, false],
      ],
    )
    change()
    service.setIntervalSeconds(30)
    t.equal(timers.at(-1)?.milliseconds, 100)
    timers.at(-1)?.call()
    await waitUntilTrue(() => sent.length === 2)
    t.equal(timers.at(-1)?.milliseconds, 30_000)
    stop.abort()
    service.setIntervalSeconds(1)
    t.ok(timers.every(({ cancelled, milliseconds }) => cancelled || milliseconds < 30_000))
  })

  t.test('a failure is reported to the supervisor', async t => {
    const { failures } = await run(t, true)
    await waitUntilTrue(() => failures.length === 1)
    t.equal(failures[0]?.message, 'broken')
  })

  t.test('nothing keeps running after the signal', async t => {
    const { stop, timers, listeners } = await run(t)
    stop.abort()
    t.ok(timers.every(({ cancelled }) => cancelled))
    t.equal(listeners.size, 0)
  })

  t.test('a missing GPU reason is omitted from the sample', async t => {
    const sample = await takeSample({
      uplink: { offer: () => {}, countDropped: () => 0, onReady: () => () => {} },
      gpus: { sample: () => ({ gpus: [] }) },
      host: { sample: async () => host },
      engines: () => [],
      onChange: () => () => {},
      intervalSeconds: 5,
    })
    t.notOk('gpu_reason' in sample)
  })
})
