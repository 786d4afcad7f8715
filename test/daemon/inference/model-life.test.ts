import { hash } from 'node:crypto'
import { symlinkSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { InferenceConfig } from '../../../daemon/inference/config.ts'
import { DownloadError } from '../../../daemon/inference/downloads/download-error.ts'
import type { ChildListener } from '../../../daemon/inference/engine-child.ts'
import type { FetchWeights } from '../../../daemon/inference/engine-options.ts'
import { Engines } from '../../../daemon/inference/engines.ts'
import type { EngineEvent, JobWork } from '../../../daemon/inference/jobs.ts'
import { createModelControl } from '../../../daemon/inference/model-control.ts'
import { pinsFile } from '../../../daemon/inference/pins.ts'
import type { EngineReply, Order } from '../../../daemon/inference/protocol.ts'
import { Tenure } from '../../../daemon/inference/tenure.ts'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { Catalogue } from '../../../shared/catalogue.ts'
import type { ShoalError } from '../../../shared/errors.ts'
import { RegisteredModel } from '../../../shared/wire/registered-models.ts'
import { EngineReport } from '../../../shared/wire/telemetry.ts'
import { waitUntil } from '../../support/wait-until.ts'
import { SMALL } from './fixtures.ts'
import { startService } from './peers.ts'
import { TestClock } from './test-clock.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

const WORK: JobWork = {
  type: 'chat',
  messages: [{ role: 'user', text: 'hi' }],
  contextLength: 100,
  sampling: {
    temperature: 0,
    topP: 1,
    seed: 1,
    stop: [],
    frequencyPenalty: 0,
    presencePenalty: 0,
    logitBias: [],
  },
}

interface Child {
  file: string
  killed: boolean
  reply: (reply: EngineReply) => void
  listener: ChildListener
}

interface World {
  config?: Partial<InferenceConfig>
  /** Children answer `ready` by themselves. */
  quick?: boolean
  fetch?: FetchWeights
  /** The weights of every model are fetched. */
  remote?: boolean
}

/** Three models of the same size, `a`, `b` and `c`, with children that only take notes. */
const setup = async (t: Test, { config = {}, quick = true, fetch, remote = false }: World = {}) => {
  const folder = t.testdir()
  const entries = ['a', 'b', 'c'].map((id, seed) => {
    const file = join(folder, `${id}.gguf`)
    writeRandomModel(file, { ...SMALL, seed })
    const weights = remote ? `https://hub.example/${id}.gguf` : file
    const entry = { id, kind: 'chat', minimum_tier: 'free', context_length: 512, weights }
    return { ...entry, ...(remote && { unchecked: true }) }
  })
  const clock = new TestClock()
  const children: Child[] = []
  let spawnFake = (): void => {}
  /** Memory shared by all engines; undefined when unknown. */
  const world = { totalBytes: undefined as number | undefined, usedBytes: 0 }
  const engines = new Engines(
    Catalogue.parse(entries),
    InferenceConfig.parse({
      slots: 1,
      queue_factor: 0,
      preload: false,
      watchdog_seconds: 86_400,
      gpu: 'off',
      threads: 1,
      ...config,
    }),
    {
      clock,
      logger: pino({ level: 'silent' }),
      fetch: fetch ?? (async () => {}),
      places: { modelsDir: folder, hubUrl: 'https://hub.example' },
      readMemory: async () => {
        const { totalBytes, usedBytes } = world
        if (totalBytes === undefined) return undefined
        return { kind: 'host', totalBytes, usedBytes, seenBytes: () => undefined }
      },
      spawn: (_slots, listener) => {
        const reply = (message: EngineReply) => listener.onReply(message)
        const child: Child = { file: '', killed: false, reply, listener }
        const beat = (): void => {
          if (child.killed) return
          reply({ type: 'beat' })
          clock.callAfter(1000, beat)
        }
        children.push(child)
        return {
          pid: children.length,
          send: (order: Order) => {
            if (order.type !== 'load') {
              beat()
              return
            }
            child.file = order.file
            if (quick) queueMicrotask(() => reply(READY))
            spawnFake()
          },
          kill: () => {
            child.killed = true
            queueMicrotask(() => listener.onEnd('was ended by SIGKILL'))
          },
        }
      },
    },
  )
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  const kept = { models: new Set<string>() as ReadonlySet<string> }
  const pins = {
    read: async () => kept.models,
    write: async (models: ReadonlySet<string>) => {
      kept.models = models
    },
  }
  const control = createModelControl({ engines, pins, clock })
  const report = (model: string): EngineReport => {
    const found = engines.reports().find(({ models }) => models.includes(model))
    return EngineReport.parse(found)
  }
  const states = () => ['a', 'b', 'c'].map(model => report(model).state).join(' ')
  /** Loads it as a request would, and waits for the outcome. */
  const load = (model: string) => engines.engine(model)?.load()
  const submit = (model: string, events: EngineEvent[] = []) =>
    engines.find(model)?.engine.submit(WORK, 2, event => events.push(event))
  const waitForSpawn = () =>
    new Promise<void>(resolve => {
      spawnFake = resolve
    })
  const done = (child: Child | undefined, job: number) =>
    child?.reply({
      type: 'step',
      counts: { steps: 0, width: 0, active: 0, tokens: 0 },
      events: [{ type: 'end', job, reason: 'stop', completionTokens: 1 }],
    })
  const childOf = (model: string) =>
    children.findLast(({ file }) => file === join(folder, `${model}.gguf`))
  const begin = () => engines.start(stop.signal)
  const all = { engines, clock, children, world, control, kept, begin, report, states, load }
  return { ...all, submit, waitForSpawn, done, childOf }
}

const READY: EngineReply = {
  type: 'ready',
  slots: 1,
  contextLength: 512,
  device: 'cpu',
  loadMs: 20_000,
}

const catchError = (run: () => unknown): ShoalError | undefined => {
  try {
    run()
    return undefined
  } catch (error) {
    return error as ShoalError
  }
}

t.test('a model loaded by a request', async t => {
  t.test('is unloaded after its idle time', async t => {
    const { begin, clock, load, submit, done, childOf, states, report } = await setup(t)
    await begin()
    await load('a')
    clock.advance(10 * MINUTE_MS)
    submit('a')
    t.equal(report('a').idle_seconds, undefined, 'it has something to do')
    clock.advance(HOUR_MS)
    t.equal(states(), 'ready cold cold')
    done(childOf('a'), 1)
    clock.advance(15 * MINUTE_MS - 1)
    t.match(report('a'), { state: 'ready', idle_seconds: 899 })
    clock.advance(1)
    t.equal(states(), 'cold cold cold')
    t.equal(childOf('a')?.killed, true)
    await load('a')
    t.equal(states(), 'ready cold cold')
  })
  t.test('stays when idle unloading is disabled', async t => {
    const { begin, clock, load, states } = await setup(t, { config: { idle_unload_minutes: 0 } })
    await begin()
    await load('a')
    clock.advance(10_000 * HOUR_MS)
    t.equal(states(), 'ready cold cold')
  })
  t.test('stays while it is pinned, and is unloaded when it is unpinned', async t => {
    const { begin, clock, control, states, report } = await setup(t)
    await begin()
    t.match(await control.pin('a'), { model: 'a', state: 'ready', pinned: true })
    clock.advance(HOUR_MS)
    t.match([states(), report('a').pinned], ['ready cold cold', true])
    t.match(await control.unpin('a'), { pinned: false })
    t.equal(states(), 'cold cold cold')
  })
})

t.test('preloaded models stay', async t => {
  const { begin, clock, states } = await setup(t, { config: { preload: true } })
  await begin()
  t.equal(states(), 'ready ready ready')
  clock.advance(10_000 * HOUR_MS)
  t.equal(states(), 'ready ready ready')
})

t.test('a model with an idle time of a year needs no frequent checks', async t => {
  const waits: number[] = []
  const clock = {
    now: () => 0,
    callAfter: (ms: number) => {
      waits.push(ms)
      return () => {}
    },
  }
  const idle = { idleMs: () => 0, onIdle: () => t.fail('it was used just now') }
  new Tenure({ clock, limitMs: 365 * 24 * HOUR_MS, ...idle }).watch()
  t.strictSame(waits, [2 ** 31 - 1], 'the longest wait of a timer')
})

t.test('a pinned model is loaded at the start, and recreated engines know the pin', async t => {
  const { begin, engines, states, report } = await setup(t)
  engines.pin(new Set(['b']))
  await begin()
  t.match([states(), report('b').pinned], ['cold ready cold', true])
  await engines.restart({ slots: 2 })
  t.match([states(), report('b').pinned], ['cold ready cold', true])
})

t.test('memory', async t => {
  /** Engines with room for this number of models. */
  const room = async (models: number, world: World = {}) => {
    const at = await setup(t, world)
    await at.begin()
    const needBytes = at.report('a').memory_bytes ?? 0
    t.ok(needBytes > 128 * 1024 * 1024, 'what a cold model needs is told')
    at.world.totalBytes = Math.ceil(((models + 0.5) * needBytes) / 0.95)
    return at
  }
  t.test('is freed by unloading the least recently used model', async t => {
    const { load, clock, submit, done, childOf, states } = await room(2)
    await load('a')
    clock.advance(1000)
    await load('b')
    clock.advance(1000)
    submit('a')
    done(childOf('a'), 1)
    await load('c')
    t.equal(states(), 'ready cold ready')
    t.equal(childOf('b')?.killed, true)
  })
  t.test('is not taken from models that are in use or pinned', async t => {
    const { load, submit, control, report, states } = await room(2)
    await load('a')
    submit('a')
    await control.pin('b')
    const events: EngineEvent[] = []
    submit('c', events)
    await load('c')
    t.match(report('c'), {
      state: 'cold',
      reason: /^it needs .* of memory; .* are free, and 2 other models are in use or pinned$/,
    })
    t.match(events, [{ type: 'error', error: { code: 'cell_unavailable', retryAfterSeconds: 10 } }])
    t.equal(states(), 'ready ready cold')
  })
  t.test('that other programs use is not available', async t => {
    const { load, world, report } = await room(2)
    world.usedBytes = world.totalBytes ?? 0
    await load('a')
    t.match(report('a'), { state: 'cold', reason: /; 0 B are free$/ })
    world.usedBytes = 0
    await load('a')
    t.equal(report('a').state, 'ready')
  })
  t.test('that is reserved for a loading model is not given to another', async t => {
    const { load, states, waitForSpawn, children } = await room(1, { quick: false })
    const begun = waitForSpawn()
    const both = [load('a'), load('b')]
    await Promise.all([begun, Promise.race(both)])
    t.strictSame(states().split(' ').sort(), ['cold', 'cold', 'loading'])
    t.equal(children.length, 1)
  })
  t.test('of a process that has just ended is awaited', async t => {
    const { load, children, clock, world, control, states, report } = await room(2)
    await load('a')
    await control.unload('a')
    await Promise.resolve()
    world.usedBytes = world.totalBytes ?? 0
    const loaded = load('b')
    await new Promise(setImmediate)
    t.equal(report('b').state, 'loading')
    world.usedBytes = 0
    while (children.length < 2) {
      clock.advance(1000)
      await new Promise(setImmediate)
    }
    await loaded
    t.equal(states(), 'cold ready cold')
  })
  t.test('that the machine does not have makes a model fail', async t => {
    const { load, report } = await room(0.3)
    await load('a')
    t.match(report('a'), { state: 'failed', reason: /it needs .* may be used at all$/ })
  })
  t.test('for preloaded models is only free memory', async t => {
    const at = await setup(t, { config: { preload: true } })
    at.world.totalBytes = 330 * 1024 * 1024
    await at.begin()
    t.equal(at.states(), 'ready ready cold')
    await at.load('c')
    t.equal(at.states(), 'cold ready ready', 'a request may have others ended')
  })
  t.test('is checked again for a pinned model', async t => {
    const { load, submit, done, childOf, control, clock, states, waitForSpawn } = await room(1)
    await load('a')
    submit('a')
    t.match(await control.pin('b'), { state: 'cold', pinned: true })
    done(childOf('a'), 1)
    const loaded = waitForSpawn()
    clock.advance(MINUTE_MS)
    await loaded
    await load('b')
    t.equal(states(), 'cold ready cold')
  })
})

t.test('requests while a model loads', async t => {
  t.test('its report states the progress', async t => {
    const { begin, clock, children, load, report, waitForSpawn } = await setup(t, { quick: false })
    await begin()
    const begun = waitForSpawn()
    const loaded = load('a')
    await begun
    t.match(report('a'), { state: 'loading', phase: 'loading', progress_percent: undefined })
    children[0]?.reply({ type: 'progress', percent: 0 })
    clock.advance(10_000)
    children[0]?.reply({ type: 'progress', percent: 25 })
    t.match(report('a'), { phase: 'loading', progress_percent: 25, remaining_seconds: 30 })
    children[0]?.reply(READY)
    await loaded
    t.match(report('a'), { state: 'ready', phase: undefined, progress_percent: undefined })
  })
  t.test('requests wait, and those beyond the queue get the progress', async t => {
    const { begin, children, submit, waitForSpawn, clock } = await setup(t, { quick: false })
    await begin()
    const begun = waitForSpawn()
    const events: EngineEvent[] = []
    submit('a', events)
    await begun
    children[0]?.reply({ type: 'progress', percent: 3 })
    clock.advance(8000)
    children[0]?.reply({ type: 'progress', percent: 43.7 })
    const refused = catchError(() => submit('a'))
    t.match(refused, { code: 'cell_unavailable', message: 'a is loading, 43 %' })
    t.equal(refused?.retryAfterSeconds, 12)
    clock.advance(30_000)
    t.match(events, [{ type: 'error', error: { message: 'a is loading, 43 %' } }], 'too late')
  })
  t.test('requests do not wait for a load that exceeds the maximum wait', async t => {
    const { begin, children, submit, load, waitForSpawn, clock } = await setup(t, { quick: false })
    await begin()
    const begun = waitForSpawn()
    void load('a')
    await begun
    children[0]?.reply({ type: 'progress', percent: 0 })
    clock.advance(10_000)
    children[0]?.reply({ type: 'progress', percent: 10 })
    const refused = catchError(() => submit('a'))
    t.match(refused, { message: 'a is loading, 10 %', retryAfterSeconds: 90 })
  })
  t.test('a second load has an estimate of its time', async t => {
    const { begin, children, load, control, report, waitForSpawn } = await setup(t, {
      quick: false,
    })
    await begin()
    const first = waitForSpawn()
    void load('a')
    await first
    children[0]?.reply(READY)
    await control.unload('a')
    const second = waitForSpawn()
    void load('a')
    t.equal(report('a').remaining_seconds, 20)
    await second
  })
})

t.test('weights that have to be fetched', async t => {
  /** A download that the test leads. */
  const createDownload = () => {
    const at = { signal: undefined as AbortSignal | undefined, tell: (_: number): void => {} }
    let settle: { resolve: () => void; reject: (error: Error) => void } | undefined
    let onFetch = (): void => {}
    const fetch: FetchWeights = (_weights, onProgress, signal) =>
      new Promise((resolve, reject) => {
        at.signal = signal
        at.tell = done => onProgress(done, 200)
        settle = { resolve, reject }
        onFetch()
      })
    const begins = () =>
      new Promise<void>(resolve => {
        onFetch = resolve
      })
    return { at, fetch, begins, fail: (error: Error) => settle?.reject(error) }
  }

  t.test('report their progress, also to a request', async t => {
    const { at, fetch, begins } = createDownload()
    const { begin, load, submit, report, clock } = await setup(t, { fetch, remote: true })
    await begin()
    const begun = begins()
    void load('a')
    await begun
    at.tell(0)
    clock.advance(60_000)
    at.tell(100)
    t.match(report('a'), {
      state: 'loading',
      phase: 'downloading',
      progress_percent: 50,
      remaining_seconds: 60,
    })
    const refused = catchError(() => submit('a'))
    t.match(refused, { message: 'a is downloading, 50 %', retryAfterSeconds: 60 })
  })
  t.test('are dropped when an operator unloads the model', async t => {
    const { at, fetch, begins } = createDownload()
    const { begin, load, control, report } = await setup(t, { fetch, remote: true })
    await begin()
    const begun = begins()
    const loaded = load('a')
    await begun
    await control.unload('a')
    t.equal(at.signal?.aborted, true)
    await loaded
    t.equal(report('a').state, 'cold')
  })
  t.test('are pulled again right after an unload', async t => {
    const { at, fetch } = createDownload()
    const { begin, control } = await setup(t, { fetch, remote: true })
    await begin()
    void control.pull('a')
    const first = at.signal
    await control.unload('a')
    t.equal(first?.aborted, true)
    void control.pull('a')
    t.equal(at.signal?.aborted, false, 'not joined to the one that was dropped')
  })
  t.test('are retried after a failure of the machine', async t => {
    const { fetch, begins, fail } = createDownload()
    const { begin, load, report, clock } = await setup(t, { fetch, remote: true })
    await begin()
    let begun = begins()
    const loaded = load('a')
    await begun
    fail(Object.assign(new Error('ENOSPC: no space left on device, mkdir'), { code: 'ENOSPC' }))
    await loaded
    t.match(report('a'), { state: 'failed', reason: /a.gguf: ENOSPC/ })
    begun = begins()
    clock.advance(MINUTE_MS)
    await Promise.race([begun, new Promise(setImmediate)])
    t.equal(report('a').state, 'loading')
  })
  t.test('are retried after a pause, unless that would not help', async t => {
    const { fetch, begins, fail } = createDownload()
    const { begin, load, report, clock } = await setup(t, { fetch, remote: true })
    await begin()
    let begun = begins()
    let loaded = load('a')
    await begun
    fail(new DownloadError('the disk is full', 'later'))
    await loaded
    t.match(report('a'), { state: 'failed', reason: /a.gguf: the disk is full$/ })
    begun = begins()
    clock.advance(MINUTE_MS)
    await begun
    loaded = load('a')
    fail(new DownloadError('hub.example answers 404', 'never'))
    await loaded
    t.match(report('a'), { state: 'failed', reason: /answers 404$/ })
    clock.advance(HOUR_MS)
    t.equal(report('a').state, 'failed')
    begun = begins()
    void load('a')
    await begun
    t.equal(report('a').state, 'loading', 'an operator may have it tried again')
  })
})

t.test('an operator', async t => {
  t.test('cannot unload a model that is answering', async t => {
    const { begin, control, load, submit, states } = await setup(t)
    await begin()
    await load('a')
    submit('a')
    await t.rejects(control.unload('a'), { code: 'conflict', message: /^1 requests run/ })
    t.equal(states(), 'ready cold cold')
  })
  t.test('cannot unload a pinned model', async t => {
    const { begin, control, kept } = await setup(t)
    await begin()
    await control.pin('a')
    t.strictSame([...kept.models], ['a'])
    await t.rejects(control.unload('a'), { code: 'conflict', message: /unpin it first/ })
  })
  t.test('gets an error for an unknown model', async t => {
    const { control } = await setup(t)
    for (const act of ['load', 'unload', 'pin', 'unpin'] as const)
      await t.rejects(control[act]('absent'), { code: 'model_not_found' })
  })
  t.test('gets an answer soon, whatever the model does', async t => {
    const { begin, control, clock, waitForSpawn } = await setup(t, { quick: false })
    await begin()
    const begun = waitForSpawn()
    const answer = control.load('a')
    await begun
    clock.advance(2000)
    t.match(await answer, { model: 'a', state: 'loading', phase: 'loading' })
  })
  t.test('reloading a failed model starts one process, and no second one later', async t => {
    const { begin, load, children, clock, states } = await setup(t)
    await begin()
    await load('a')
    children[0]?.listener.onEnd('was ended by SIGSEGV')
    t.equal(states(), 'failed cold cold')
    await load('a')
    clock.advance(HOUR_MS / 60)
    t.strictSame([states(), children.length], ['ready cold cold', 2])
  })
})

t.test('all pins are kept, however many there are', async t => {
  const pins = pinsFile(t.testdir())
  const many = new Set(Array.from({ length: 1000 }, (_, index) => `model-${index}`))
  await pins.write(many)
  t.strictSame(await pins.read(), many)
})

t.test('a damaged file of pins is never overwritten', async t => {
  const stateDir = t.testdir({ 'pinned-models.json': '["a", "b"' })
  const pins = pinsFile(stateDir)
  await t.rejects(pins.read(), { code: 'store_unavailable', message: /damaged; restore it/ })
  const engine = { load: async () => {}, report: () => ({ state: 'ready' }) } as never
  const control = createModelControl({
    engines: { engine: () => engine, pin: () => {} },
    pins,
    clock: new TestClock(),
  })
  await t.rejects(control.pin('c'), { code: 'store_unavailable' })
  await t.rejects(control.unpin('c'), { code: 'store_unavailable' })
  t.equal(await readFile(join(stateDir, 'pinned-models.json'), 'utf8'), '["a", "b"')
})

t.test('concurrent pins are all kept', async t => {
  const pins = pinsFile(t.testdir())
  const engine = { load: async () => {}, report: () => ({ state: 'ready' }) } as never
  const control = createModelControl({
    engines: { engine: () => engine, pin: () => {} },
    pins,
    clock: new TestClock(),
  })
  await Promise.all(['a', 'b', 'c'].map(model => control.pin(model)))
  t.strictSame(await pins.read(), new Set(['a', 'b', 'c']))
})

t.test('a catalogue that a cell could not report is refused with the reason', async t => {
  const entry = (id: number, weights: string) => ({
    id: `m${id}`,
    kind: 'chat' as const,
    minimum_tier: 'free' as const,
    context_length: 512,
    weights,
  })
  const places = { modelsDir: '/nonexistent', hubUrl: 'https://hub.example' }
  const make = (weights: (id: number) => string, count: number) => () =>
    new Engines(
      Catalogue.parse(Array.from({ length: count }, (_, id) => entry(id, weights(id)))),
      InferenceConfig.parse({}),
      { places, clock: new TestClock() } as never,
    )
  t.doesNotThrow(make(id => `/w${id}.gguf`, 256))
  t.throws(
    make(id => `/w${id}.gguf`, 257),
    { code: 'config_invalid', message: /257 different/ },
  )
  t.throws(
    make(() => '/w.gguf', 257),
    { code: 'config_invalid', message: /257 of its ids/ },
  )
})

t.test(
  'an id of the same weights joins the engine that runs, as far as its context fits',
  async t => {
    const { engines, begin, load, childOf, children, report } = await setup(t)
    await begin()
    await load('a')
    const file = childOf('a')?.file ?? ''
    const link = `${file}.link`
    symlinkSync(file, link)
    const entry = (id: string, weights: string, context_length = 512) => ({
      ...{ id, kind: 'chat', minimum_tier: 'free', context_length, weights },
    })
    const serve = (...entries: object[]) =>
      engines.setCatalogue(Catalogue.parse([entry('a', file), ...entries]))
    serve(entry('linked', link), entry('0-shorter', file, 128))
    t.match(report('linked'), { state: 'ready', models: ['a', 'linked', '0-shorter'] })
    serve(entry('longer', file, 2048))
    t.equal(report('longer').state, 'cold', 'its context would not fit')
    await load('longer')
    t.match(report('a'), { state: 'ready', context_length: 2048 })
    serve(entry('longest', file, 4096))
    t.equal(report('longest').state, 'ready', 'the file allows no more than the engine has')
    serve()
    t.match(report('a'), { state: 'ready', models: ['a'] }, 'requests do not wait for less')
    t.equal(children.length, 2)
    await engines.engine('a')?.unload()
    await load('a')
    t.equal(report('a').context_length, 512)
    const sha256 = '0'.repeat(64)
    serve({ ...entry('checked', file), sha256 })
    t.equal(report('a').state, 'cold', 'a checksum that nobody has verified is verified')
  },
)

t.test('a cell serves its own model where an added one or an alias has the same id', async t => {
  const own = { id: 'own', weights: '/srv/own.gguf' }
  const demo = { id: 'demo', weights: 'bundled:shoal-demo-small' }
  const service = await startService(t, [own, demo], { preload: false })
  const add = (id: string, weights = '/srv/added.gguf') =>
    RegisteredModel.parse({
      id,
      weights,
      kind: 'chat',
      minimum_tier: 'free',
      context_length: 512,
    })
  const served = () =>
    service.reports().flatMap(({ models, weights }) => models.map(id => `${id} ${weights}`))
  const alias = { id: 'own', model: 'new' }
  const own_models = () => service.reports().flatMap(report => report.own_models ?? [])
  await service.setRegistered({ entries: [add('own', own.weights)], aliases: [] })
  t.strictSame(own_models(), [], 'the weights that were added are served')
  const reported: string[][] = []
  const off = service.onChange(() => reported.push(own_models()))
  await service.setRegistered({ entries: [add('own')], aliases: [] })
  await service.setRegistered({ entries: [add('own')], aliases: [] })
  t.strictSame(reported, [['own']], 'listeners learn of it although the catalogue is the same')
  off()
  await service.setRegistered({ entries: [add('own'), add('new')], aliases: [alias] })
  t.strictSame(own_models(), ['own'])
  const expected = ['own /srv/own.gguf', 'demo bundled:shoal-demo-small', 'new /srv/added.gguf']
  t.strictSame(served(), expected)
  await service.setRegistered({ entries: [add('demo'), add('new')], aliases: [] })
  const before = ['own /srv/own.gguf', 'demo /srv/added.gguf', 'new /srv/added.gguf']
  t.strictSame(served(), before)
  t.strictSame(own_models(), [])
  const many = Array.from({ length: 300 }, (_, at) => add(`m${at}`, `/srv/${at}.gguf`))
  await service.setRegistered({ entries: many, aliases: [] })
  t.strictSame(served(), before, 'a list that the cell cannot serve changes nothing')
})

t.test('an added model is downloaded only while the coordinator allows it', async t => {
  const file = join(t.testdir(), 'tiny.gguf')
  writeRandomModel(file, SMALL)
  const content = await readFile(file)
  const half = Math.floor(content.length / 2)
  const requests: IncomingMessage[] = []
  const server = createServer((request, response) => {
    const from = requests.push(request) === 1 ? 0 : half
    const range = { 'content-range': `bytes ${from}-${content.length - 1}/${content.length}` }
    response.writeHead(from > 0 ? 206 : 200, {
      etag: '"one"',
      'content-length': content.length - from,
      ...(from > 0 && range),
    })
    if (from > 0) response.end(content.subarray(from))
    else response.write(content.subarray(0, half))
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const hub_url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const service = await startService(t, [], { hub_url, preload: false })
  const entry = RegisteredModel.parse({
    id: 'added',
    weights: 'hf:acme/tiny/tiny.gguf@v1',
    sha256: hash('sha256', content),
    kind: 'chat',
    minimum_tier: 'free',
    context_length: 512,
  })
  const models = { entries: [entry], aliases: [] }
  const waitFor = (about: string, isRight: (report: EngineReport) => boolean) =>
    waitUntil(about, () => service.reports().some(isRight))
  const isStopped = ({ state, reason = '' }: EngineReport) =>
    state === 'cold' && reason.includes('stopped because egress is off')

  await service.setRegistered({ ...models, downloads: 'off' })
  const refused = await service.models.pull('added')
  t.match(refused, { state: 'cold', reason: /tiny.gguf@v1: .* stopped because egress is off/ })
  t.equal(requests.length, 0)

  await service.setRegistered(models)
  await waitFor('half of it is there', ({ downloaded_bytes }) => downloaded_bytes === half)
  await service.setRegistered({ ...models, downloads: 'off' })
  await waitFor('it is stopped', isStopped)
  t.match(await service.models.load('added'), { state: 'cold', reason: /egress is off/ })
  t.equal(requests.length, 1)

  await service.setRegistered(models)
  const isWhole = ({ file_bytes }: EngineReport) => file_bytes === content.length
  await waitFor('all of it is there', isWhole)
  t.strictSame(
    requests.map(({ headers }) => headers.range),
    [undefined, `bytes=${half}-`],
    'it goes on where it stood',
  )
})
