import { readFileSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../../daemon/inference/clock.ts'
import { InferenceConfig } from '../../../daemon/inference/config.ts'
import { type ChildListener, engineSpawner } from '../../../daemon/inference/engine-child.ts'
import { Engines } from '../../../daemon/inference/engines.ts'
import type { MeasureOrder, Order } from '../../../daemon/inference/protocol.ts'
import { chooseLimits, listTuningCandidates } from '../../../daemon/inference/tuning/choose.ts'
import { keep, readKept } from '../../../daemon/inference/tuning/kept.ts'
import { measureEngine } from '../../../daemon/inference/tuning/measure-engine.ts'
import { Tuner, type TuningRequest } from '../../../daemon/inference/tuning/tuner.ts'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { Catalogue } from '../../../shared/catalogue.ts'
import { SMALL } from './fixtures.ts'
import { TestClock } from './test-clock.ts'

const LEAST_BYTES = 64 * 1024 * 1024

const logger = pino({ level: 'silent' })
const never = new AbortController().signal

t.test('the measured settings', async t => {
  const free = { slots: undefined, threads: undefined }
  for (const { title, fixed, cores, slots, threads } of [
    { title: 'leaves a core free', fixed: free, cores: 8, slots: 5, threads: [7, 4] },
    { title: 'knows one thread on two cores', fixed: free, cores: 2, slots: 5, threads: [1] },
    { title: 'has a thread on one core', fixed: free, cores: 1, slots: 5, threads: [1] },
    {
      title: 'is what is fixed',
      fixed: { slots: 3, threads: 2 },
      cores: 8,
      slots: 1,
      threads: [2],
    },
  ])
    t.test(title, async t => {
      const tried = listTuningCandidates(fixed, cores)
      t.strictSame([tried.slots.length, tried.threads], [slots, threads])
    })
})

t.test('the chosen setting', async t => {
  const row = (slots: number, tokensPerSecond: number, threads = 1) => ({
    slots,
    threads,
    tokensPerSecond,
  })
  t.test('is the fastest', async t => {
    t.match(chooseLimits([row(1, 239), row(2, 117), row(4, 153)]), { slots: 1 })
    t.match(chooseLimits([row(1, 239), row(8, 252), row(16, 400)]), { slots: 16 })
  })
  t.test('has more slots where they cost nothing, then fewer threads', async t => {
    t.match(chooseLimits([row(1, 100), row(2, 100), row(4, 95), row(8, 94.9)]), { slots: 4 })
    t.match(chooseLimits([row(4, 100, 7), row(4, 98, 4)]), { slots: 4, threads: 4 })
  })
  t.test('is absent without measurements', async t => t.equal(chooseLimits([]), undefined))
})

t.test('the measured result is stored, and the oldest is dropped', async t => {
  const file = join(t.testdir(), 'state', 'tuning.json')
  t.equal(await readKept(file, 'a'), undefined)
  const makeFound = (measured_at: number) => ({ slots: 2, threads: 1, measured_at })
  await keep(file, 'a', makeFound(0))
  t.strictSame(await readKept(file, 'a'), makeFound(0))
  for (let at = 1; at <= 64; at++) await keep(file, `b${at}`, makeFound(at))
  t.equal(await readKept(file, 'a'), undefined, 'the oldest is forgotten')
  writeFileSync(file, '{"b1":{"slots":')
  t.equal(await readKept(file, 'b1'), undefined, 'a broken file counts as empty')
  await keep(file, 'c', makeFound(1))
  t.strictSame(await readKept(file, 'c'), makeFound(1))
})

/** Engine processes that answer a measurement as the test says. */
const fakeSpawn = (answer: (order: MeasureOrder, listener: ChildListener) => void) => {
  const orders: MeasureOrder[] = []
  const spawn = (_: number, listener: ChildListener) => ({
    pid: 1,
    send: (order: Order) => {
      if (order.type !== 'measure') return
      orders.push(order)
      queueMicrotask(() => answer(order, listener))
    },
    kill: () => queueMicrotask(() => listener.onEnd('was ended by SIGKILL')),
  })
  return { orders, spawn }
}

const ROWS = [{ slots: 4, threads: 1, tokensPerSecond: 9 }]

const setup = (t: Test, bytes: number) => {
  const folder = t.testdir()
  const file = join(folder, 'weights')
  writeFileSync(file, '')
  truncateSync(file, bytes)
  const { orders, spawn } = fakeSpawn((_, listener) =>
    listener.onReply({ type: 'measured', rows: ROWS }),
  )
  const parts = { spawn, clock: systemClock, logger, now: () => 5 }
  const tuner = (again = false) => new Tuner({ file: join(folder, 'tuning.json'), again }, parts)
  const request: TuningRequest = {
    weights: { label: 'w', file, sha256: undefined },
    contextLength: 64,
    gpu: 'off',
    slots: undefined,
    threads: undefined,
    timeoutSeconds: 60,
  }
  const makeFailing = () => {
    const { spawn: fail } = fakeSpawn((order, listener) => {
      orders.push(order)
      listener.onReply({ type: 'failed', reason: 'no memory', transient: true })
    })
    return new Tuner({ file: join(folder, 'tuning.json'), again: false }, { ...parts, spawn: fail })
  }
  return { orders, tuner, request, failing: makeFailing }
}

t.test('the tuner', async t => {
  t.test('measures once, and again on request', async t => {
    const { orders, tuner, request } = setup(t, LEAST_BYTES)
    const found = { slots: 4, threads: 1 }
    t.match(await tuner().limits(request, never), found)
    t.match(await tuner().limits(request, never), found)
    t.equal(orders.length, 1, 'the second start finds it')
    const again = tuner(true)
    await again.limits(request, never)
    await again.limits(request, never)
    t.equal(orders.length, 2, 'once for each start that asks for it')
  })
  t.test('measures unset values only, and nothing when all are set', async t => {
    const { orders, tuner, request } = setup(t, LEAST_BYTES)
    await tuner().limits({ ...request, slots: 3 }, never)
    t.match(orders, [{ slots: [3], contextLength: 64 }])
    t.equal(await tuner().limits({ ...request, slots: 3, threads: 1 }, never), undefined)
    t.equal(orders.length, 1)
  })
  t.test('skips small weights', async t => {
    const { orders, tuner, request } = setup(t, 1000)
    t.equal(await tuner().limits(request, never), undefined)
    t.equal(orders.length, 0)
    t.match(await tuner(true).limits(request, never), { slots: 4 }, 'unless it is told to')
  })
})

t.test('the tuner in the life of a model', async t => {
  t.test('does not repeat a failed measurement at every load', async t => {
    const { orders, request, failing } = setup(t, LEAST_BYTES)
    const tuner = failing()
    t.equal(await tuner.limits(request, never), undefined)
    t.equal(await tuner.limits(request, never), undefined)
    t.equal(orders.length, 1)
  })
  t.test('starts no process for a model that is no longer needed', async t => {
    const { orders, tuner, request } = setup(t, LEAST_BYTES)
    const life = new AbortController()
    const reserve = async () => {
      life.abort()
      return () => {}
    }
    t.equal(await tuner().limits({ ...request, reserve }, life.signal), undefined)
    t.equal(orders.length, 0)
  })
  t.test('reserves its own memory, which is free again before the engine asks', async t => {
    const folder = t.testdir()
    const weights = join(folder, 'small.gguf')
    writeRandomModel(weights, SMALL)
    const time = new TestClock()
    /** Time passes only while somebody waits for a look at the memory. */
    const clock = {
      now: time.now,
      callAfter: (ms: number, run: () => void) => {
        if (ms === 1000) setImmediate(() => time.advance(ms))
        return time.callAfter(ms, run)
      },
    }
    const reads: string[] = []
    let measured = 0
    const spawn = (_: number, listener: ChildListener) => ({
      pid: 1,
      send: (order: Order) => {
        reads.push(order.type)
        if (order.type === 'measure')
          queueMicrotask(() => listener.onReply({ type: 'measured', rows: ROWS }))
        else if (order.type === 'load')
          queueMicrotask(() =>
            listener.onReply({
              type: 'ready',
              slots: 4,
              contextLength: 64,
              device: 'cpu',
              loadMs: 1,
            } as const),
          )
      },
      kill: () => queueMicrotask(() => listener.onEnd('was ended by SIGKILL')),
    })
    const tuner = new Tuner(
      { file: join(folder, 'tuning.json'), again: true },
      { spawn, clock, logger, now: () => 1 },
    )
    const entry = { id: 'one', kind: 'chat', minimum_tier: 'free', context_length: 256, weights }
    const totalBytes = 2 ** 40
    const config = InferenceConfig.parse({ gpu: 'off' })
    const engines = new Engines(Catalogue.parse([entry]), config, {
      spawn,
      clock,
      logger,
      tuner,
      fetch: async () => {},
      readMemory: async () => {
        reads.push('read')
        // the samples are a little old: what has measured seems to be there still
        const isOld = reads.includes('measure') && measured++ < 2
        const usedBytes = isOld ? totalBytes : 0
        return { kind: 'gpu', totalBytes, usedBytes, seenBytes: () => undefined }
      },
      places: { modelsDir: folder, hubUrl: 'http://127.0.0.1:1' },
    })
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    await engines.start(stop.signal)
    t.match(engines.reports(), [{ state: 'ready', slots: 4 }])
    t.strictSame(reads, ['read', 'measure', 'read', 'read', 'read', 'load'])
  })
})

t.test('a failed or cancelled measurement changes nothing', async t => {
  const order: MeasureOrder = {
    type: 'measure',
    file: 'absent',
    contextLength: 64,
    gpu: 'off',
    slots: [1],
    threads: [1],
    budgetMs: 10,
  }
  const life = new AbortController()
  const { spawn } = fakeSpawn(() => life.abort())
  const parts = { spawn, clock: systemClock, life: life.signal }
  t.equal(await measureEngine(order, parts, 60), undefined)
  const real = { spawn: engineSpawner(logger), clock: systemClock, life: never }
  t.equal(await measureEngine(order, real, 60), undefined)
})

t.test('a real engine', async t => {
  const folder = t.testdir()
  const weights = join(folder, 'small.gguf')
  writeRandomModel(weights, SMALL)
  const spawn = engineSpawner(logger)

  t.test('measures each number of streams', async t => {
    const order: MeasureOrder = {
      type: 'measure',
      file: weights,
      contextLength: 256,
      gpu: 'off',
      slots: [1, 3],
      threads: [1],
      budgetMs: 2000,
    }
    const rows = await measureEngine(order, { spawn, clock: systemClock, life: never }, 60)
    t.strictSame(
      rows?.map(({ slots, threads }) => [slots, threads]),
      [
        [1, 1],
        [3, 1],
      ],
    )
    t.ok(rows?.every(({ tokensPerSecond }) => tokensPerSecond > 0))
  })

  t.test('serves with the measured setting', async t => {
    const file = join(folder, 'tuning.json')
    const parts = { spawn, clock: systemClock, logger, now: Date.now }
    const rows = fakeSpawn((_, listener) => listener.onReply({ type: 'measured', rows: ROWS }))
    const tuner = new Tuner({ file, again: true }, { ...parts, spawn: rows.spawn })
    const entry = { id: 'one', kind: 'chat', minimum_tier: 'free', context_length: 256, weights }
    const config = InferenceConfig.parse({ gpu: 'off' })
    const engines = new Engines(Catalogue.parse([entry]), config, {
      ...parts,
      tuner,
      fetch: async () => {},
      readMemory: async () => undefined,
      places: { modelsDir: folder, hubUrl: 'http://127.0.0.1:1' },
    })
    const stop = new AbortController()
    t.teardown(() => stop.abort())
    await engines.start(stop.signal)
    t.match(engines.reports(), [{ state: 'ready', slots: 4 }])
    t.match(JSON.parse(readFileSync(file, 'utf8')), Object)
  })
})
