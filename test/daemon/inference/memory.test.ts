import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t from 'tap'
import { Leftovers } from '../../../daemon/inference/leftovers.ts'
import { makeRoom } from '../../../daemon/inference/memory/make-room.ts'
import { memoryNeedBytes } from '../../../daemon/inference/memory/need.ts'
import { planRoom, type Resident } from '../../../daemon/inference/memory/plan-room.ts'
import { memoryReader } from '../../../daemon/inference/memory/read-memory.ts'
import type { GpuSample } from '../../../shared/wire/telemetry.ts'
import { TestClock } from './test-clock.ts'

type ModelShape = Parameters<typeof memoryNeedBytes>[0]

const GIB = 1024 ** 3

t.test('the memory need of a model', async t => {
  /** Llama 3.1 8B as Q4_K_M (its config.json, and the size of its published file). */
  const shape: ModelShape = {
    fileBytes: 4_920_739_232,
    blockCount: 32,
    embeddingLength: 4096,
    headCount: 32,
    headCountKv: 8,
    keyLength: undefined,
    valueLength: undefined,
    vocabularySize: 128_256,
  }
  const load = { kind: 'chat', slots: 1, contextLength: 8192 } as const
  const cacheBytes = (other: Partial<ModelShape>, slots = 1) => {
    const changed = { ...shape, ...other }
    const bare = { ...changed, blockCount: 0 }
    return memoryNeedBytes(changed, { ...load, slots }) - memoryNeedBytes(bare, { ...load, slots })
  }
  t.test('is the sum of its file, its cache and the compute buffer', async t => {
    t.equal(cacheBytes({}), GIB, '128 KiB a token')
    const rest = memoryNeedBytes(shape, load) - shape.fileBytes - GIB
    t.ok(rest > 0.3 * GIB && rest < 0.6 * GIB)
  })
  t.test('grows with the slots', async t => {
    t.equal(cacheBytes({}, 8), 8 * GIB)
  })
  t.test('uses the lengths of keys and values from the header', async t => {
    t.equal(cacheBytes({ keyLength: 256, valueLength: 256 }), 2 * GIB)
  })
  t.test('assumes the maximum where the header has no heads', async t => {
    t.equal(cacheBytes({ headCountKv: undefined }), 4 * GIB)
    t.equal(cacheBytes({ headCount: undefined, headCountKv: undefined }), 4 * GIB)
  })
})

t.test('an eviction plan', async t => {
  const resident = (name: string, more: Partial<Resident> = {}): Resident => ({
    name,
    needBytes: 20,
    seenBytes: 20,
    lastUsedAt: 0,
    busy: false,
    pinned: false,
    ...more,
  })
  const plan = (
    needBytes: number,
    usedBytes: number,
    residents: Resident[] = [],
    more: { mayEvict?: boolean; limitPercent?: number } = {},
  ) => {
    const memory = { totalBytes: 100, usedBytes }
    return planRoom({ needBytes, memory, limitPercent: 95, residents, mayEvict: true, ...more })
  }
  for (const [needBytes, usedBytes, fits] of [
    [95, 0, true],
    [50, 45, true],
    [50, 46, false],
    [1, 95, false],
  ] as const)
    t.test(`${needBytes} of 100 with ${usedBytes} in use: ${fits}`, async t => {
      t.equal(plan(needBytes, usedBytes).fits, fits)
    })
  t.test('the limit is configurable', async t => {
    t.equal(plan(51, 0, [], { limitPercent: 50 }).fits, false)
  })
  t.test('a need beyond the machine is reported separately', async t => {
    t.strictSame(plan(96, 0), { fits: false, ever: false, freeBytes: 95 })
    t.strictSame(plan(90, 10), { fits: false, ever: true, freeBytes: 85 })
  })
  t.test('the least recently used model goes first, and no more than needed', async t => {
    const three = [
      resident('new', { lastUsedAt: 3 }),
      resident('old', { lastUsedAt: 1 }),
      resident('middle', { lastUsedAt: 2 }),
    ]
    t.strictSame(plan(30, 60, three), { fits: true, evict: [] })
    t.strictSame(plan(55, 60, three), { fits: true, evict: ['old'] })
    t.strictSame(plan(56, 60, three), { fits: true, evict: ['old', 'middle'] })
  })
  t.test('no model is ended without benefit, or while it is busy or pinned', async t => {
    const held = [resident('a', { busy: true }), resident('b', { pinned: true }), resident('c')]
    t.strictSame(plan(60, 60, held), { fits: false, ever: true, freeBytes: 35 })
    t.equal(plan(55, 60, held).fits, true)
    t.equal(plan(55, 60, held, { mayEvict: false }).fits, false)
  })
  t.test('a reserved need counts before it is visible', async t => {
    t.equal(plan(75, 20, [resident('a', { busy: true })]).fits, true)
    t.equal(plan(75, 20, [resident('a', { busy: true, seenBytes: 5 })]).fits, false)
    t.equal(plan(75, 20, [resident('a', { busy: true, seenBytes: undefined })]).fits, false)
    t.equal(plan(75, 20, [resident('a', { busy: true, seenBytes: 40 })]).fits, true)
  })
})

t.test('two simultaneous engines never get the same memory', async t => {
  const promised = new Set<string>()
  const engines = ['a', 'b'].map(name => ({
    name,
    pid: undefined,
    get resident() {
      const held = { name, needBytes: 60, lastUsedAt: 0, busy: true, pinned: false }
      return promised.has(name) ? held : undefined
    },
    unload: () => {},
  }))
  const clock = new TestClock()
  const reading = { kind: 'gpu' as const, totalBytes: 100, usedBytes: 0, seenBytes: () => 0 }
  const parts = {
    clock,
    engines,
    device: 'gpu' as const,
    limitPercent: 100,
    logger: pino({ level: 'silent' }),
    readMemory: async () => reading,
    leftovers: new Leftovers(clock),
  }
  const seek = (name: string) =>
    makeRoom(
      {
        name,
        needBytes: 60,
        mayEvict: true,
        signal: new AbortController().signal,
        promise: () => promised.add(name),
      },
      parts,
    )
  const outcomes = await Promise.allSettled([seek('a'), seek('b')])
  t.strictSame(
    outcomes.map(({ status }) => status),
    ['fulfilled', 'rejected'],
  )
  t.strictSame([...promised], ['a'])
})

t.test('the GPU readings decide about room', async t => {
  /** One model that has nothing to do, and a sample of a GPU that the test replaces. */
  const setup = (readyAt: number) => {
    const clock = new TestClock()
    const ended: string[] = []
    const world = { usedBytes: 60, takenAt: 0, listedBytes: undefined as number | undefined }
    const idle = {
      name: 'idle',
      pid: 7,
      resident: { name: 'idle', needBytes: 40, lastUsedAt: 0, readyAt, busy: false, pinned: false },
      unload: () => ended.push('idle'),
    }
    const parts = {
      clock,
      engines: [idle],
      device: 'gpu' as const,
      limitPercent: 100,
      logger: pino({ level: 'silent' }),
      readMemory: async () => ({
        kind: 'gpu' as const,
        totalBytes: 100,
        usedBytes: world.usedBytes,
        takenAt: world.takenAt,
        seenBytes: () => world.listedBytes,
      }),
      leftovers: new Leftovers(clock),
    }
    const seek = (needBytes: number) =>
      makeRoom(
        {
          name: 'new',
          needBytes,
          mayEvict: true,
          promise: () => {},
          signal: new AbortController().signal,
        },
        parts,
      )
    /** Lets looks follow each other until the time is over. */
    const pass = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 1000) {
        await new Promise(resolve => setImmediate(resolve))
        clock.advance(1000)
      }
    }
    return { clock, ended, world, seek, pass }
  }
  t.test('a newer sample is awaited before another model ends', async t => {
    const { clock, ended, world, seek, pass } = setup(-1)
    clock.advance(10_000)
    const done = seek(50)
    await pass(3000)
    t.strictSame(ended, [], 'the sample is from before')
    Object.assign(world, { usedBytes: 40, takenAt: 12_000 })
    await pass(2000)
    await done
    t.strictSame(ended, [], 'and somebody else has gone meanwhile')
  })
  t.test('the wait is limited', async t => {
    const { clock, ended, seek, pass } = setup(-1)
    clock.advance(10_000)
    const done = seek(50)
    await pass(17_000)
    await done
    t.strictSame(ended, ['idle'])
  })
  t.test('a model loaded before the sample does not count twice', async t => {
    for (const listedBytes of [undefined, 0]) {
      const { ended, world, seek } = setup(-1)
      world.listedBytes = listedBytes
      await seek(40)
      t.strictSame(ended, [])
    }
  })
  t.test('a model loaded after the sample counts as used', async t => {
    const { ended, seek } = setup(1)
    await seek(20)
    t.strictSame(ended, ['idle'])
  })
})

t.test('the memory reading', async t => {
  const gpu = (more: Partial<GpuSample> = {}): GpuSample => ({
    index: 0,
    id: 'GPU-0',
    utilization_percent: null,
    vram_total_bytes: 80 * GIB,
    vram_used_bytes: 30 * GIB,
    temperature_celsius: null,
    power_watts: null,
    clock_mhz: null,
    unified_memory: false,
    ...more,
  })
  const folder = t.testdir()
  writeFileSync(
    join(folder, 'meminfo'),
    'MemTotal:       1000 kB\nMemFree:         100 kB\nMemAvailable:    600 kB\n',
  )
  mkdirSync(join(folder, '7'))
  writeFileSync(join(folder, '7', 'status'), 'VmRSS:\t  500 kB\nRssAnon:\t   90 kB\n')

  t.test('covers all GPUs together', async t => {
    const processes = [{ pid: 7, name: 'node', used_bytes: 5 * GIB }]
    const both = [gpu({ processes }), gpu({ index: 1, id: 'GPU-1', processes })]
    const memory = await memoryReader(() => ({ gpus: both }))('gpu', [7])
    t.match(memory, { kind: 'gpu', totalBytes: 160 * GIB, usedBytes: 60 * GIB })
    t.equal(memory?.seenBytes(7), 10 * GIB)
    t.equal(memory?.seenBytes(8), 0)
  })
  t.test('is unknown for a process that the driver does not report', async t => {
    const memory = await memoryReader(() => ({ gpus: [gpu()] }))('gpu', [7])
    t.equal(memory?.seenBytes(7), undefined)
    const processes = [{ pid: 7, name: 'node', used_bytes: null }]
    t.equal(
      (await memoryReader(() => ({ gpus: [gpu({ processes })] }))('gpu', [7]))?.seenBytes(7),
      undefined,
    )
  })
  t.test('is unknown while the driver reports nothing', async t => {
    t.equal(await memoryReader(() => undefined, folder)('gpu', []), undefined)
    t.equal(
      await memoryReader(() => ({ gpus: [gpu({ vram_used_bytes: null })] }))('gpu', []),
      undefined,
    )
  })
  for (const [title, gpus, device] of [
    ['without a GPU', [], 'gpu'],
    ['with a GPU that shares it', [gpu({ unified_memory: true })], 'gpu'],
    ['when the engines do not use the GPU', [gpu()], 'host'],
  ] as const)
    t.test(`is the host's ${title}, without mapped weights`, async t => {
      const memory = await memoryReader(() => ({ gpus }), folder)(device, [7, 8])
      t.match(memory, { kind: 'host', totalBytes: 1000 * 1024, usedBytes: 400 * 1024 })
      t.strictSame([memory?.seenBytes(7), memory?.seenBytes(8)], [90 * 1024, undefined])
    })
  t.test('is unknown without meminfo', async t => {
    t.equal(await memoryReader(() => ({ gpus: [] }), '/nonexistent')('host', []), undefined)
  })
})
