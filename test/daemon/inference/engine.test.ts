import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import t, { type Test } from 'tap'
import { SlotAdmission } from '../../../daemon/inference/admission.ts'
import { InferenceConfig } from '../../../daemon/inference/config.ts'
import { Engine } from '../../../daemon/inference/engine.ts'
import { type ChildListener, poolThreads } from '../../../daemon/inference/engine-child.ts'
import type { EngineOptions, EngineParts } from '../../../daemon/inference/engine-options.ts'
import { Engines } from '../../../daemon/inference/engines.ts'
import { gpuMayBePresent } from '../../../daemon/inference/gpu-present.ts'
import type { EngineEvent, JobWork } from '../../../daemon/inference/jobs.ts'
import { Leftovers } from '../../../daemon/inference/leftovers.ts'
import type { EngineReply, Order } from '../../../daemon/inference/protocol.ts'
import { Restarts } from '../../../daemon/inference/restarts.ts'
import { writeRandomModel } from '../../../models/gguf/random-model.ts'
import { Catalogue } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { EngineReport } from '../../../shared/wire/telemetry.ts'
import { SMALL } from './fixtures.ts'
import { TestClock } from './test-clock.ts'

const LIMITS = { slots: 1, queue: 2, queueBytes: 100, queueTimeoutSeconds: 30 }

t.test('an engine process has one pool thread per slot, but no more than CPUs', async t => {
  t.equal(poolThreads(8, 16), 8)
  t.equal(poolThreads(16, 4), 4)
  t.equal(poolThreads(1, 1), 2)
})

t.test('admission', async t => {
  const setup = (limits = LIMITS) => {
    const clock = new TestClock()
    const admission = new SlotAdmission(limits, clock)
    const seen: string[] = []
    const enter = (name: string, bytes = 1): (() => void) =>
      admission.enter({
        bytes,
        onSlot: () => seen.push(name),
        onRefused: error => seen.push(`${name} ${error.code}`),
      })
    return { clock, admission, seen, enter }
  }
  const refused = { code: 'cell_unavailable', retryAfterSeconds: 1 }

  t.test('grants slots in the order of arrival', async t => {
    const { admission, seen, enter } = setup()
    admission.open()
    for (const name of ['a', 'b', 'c']) enter(name)
    t.strictSame([seen, admission.busy, admission.queued], [['a'], 1, 2])
    admission.leave()
    admission.leave()
    t.strictSame([seen, admission.busy, admission.queued], [['a', 'b', 'c'], 1, 0])
  })
  t.test('refuses at once when the queue is full', async t => {
    const { admission, enter } = setup()
    admission.open()
    for (const name of ['a', 'b', 'c']) enter(name)
    t.throws(() => enter('d'), refused)
  })
  t.test('holds as many requests as slots and queue places while the engine loads', async t => {
    const { admission, seen, enter } = setup()
    for (const name of ['a', 'b', 'c']) enter(name)
    t.throws(() => enter('d'), refused)
    admission.open()
    t.strictSame(seen, ['a'])
  })
  t.test('bounds the waiting text, but lets one large request wait', async t => {
    const { admission, enter } = setup()
    admission.open()
    enter('a', 500)
    enter('b', 500)
    t.throws(() => enter('c', 1), refused)
  })
  t.test('removes a cancelled request from the queue at once', async t => {
    const { admission, seen, enter } = setup()
    admission.open()
    enter('a')
    const leave = enter('b', 99)
    leave()
    leave()
    t.equal(admission.queued, 0)
    enter('c', 99)
    admission.leave()
    t.strictSame(seen, ['a', 'c'])
  })
  t.test('refuses a request that waits too long', async t => {
    const { clock, admission, seen, enter } = setup()
    admission.open()
    enter('a')
    enter('b')
    clock.advance(29_999)
    enter('c')
    clock.advance(1)
    t.strictSame(seen, ['a', 'b cell_unavailable'])
    admission.leave()
    clock.advance(60_000)
    t.strictSame(seen, ['a', 'b cell_unavailable', 'c'])
  })
  t.test('lets follow-ups of a request wait without limit', async t => {
    const { clock, admission, seen, enter } = setup()
    admission.open()
    enter('a')
    for (let choice = 1; choice <= 15; choice++)
      admission.enter({
        bytes: 0,
        follows: true,
        onSlot: () => seen.push(String(choice)),
        onRefused: error => seen.push(error.code),
      })
    clock.advance(3_600_000)
    t.throws(() => enter('b'), refused, 'others find the queue full')
    for (let choice = 1; choice <= 15; choice++) admission.leave()
    t.strictSame(seen, ['a', ...Array.from({ length: 15 }, (_, index) => String(index + 1))])
  })
  t.test('refuses all waiting requests when the engine is removed', async t => {
    const { admission, seen, enter } = setup()
    admission.open()
    enter('a')
    enter('b')
    admission.close()
    admission.refuseAll(new ShoalError('draining', 'stop'))
    t.strictSame([seen, admission.busy], [['a', 'b draining'], 0])
  })
})

t.test('the wait before a restart doubles, then an open circuit waits longer', async t => {
  const restarts = new Restarts()
  const plans = [0, 1, 2, 3].map(at => restarts.planAfterCrash(at).waitMs)
  t.strictSame(plans, [1000, 2000, 4000, 8000])
  t.strictSame(restarts.planAfterCrash(10_000), { waitMs: 590_000, open: true }, 'the fifth')
  t.strictSame(restarts.planAfterCrash(700_000), { waitMs: 1000, open: false }, 'long after')
  t.equal(restarts.total, 6)
})

t.test('the GPU check runs only where there may be a GPU', async t => {
  t.equal(
    gpuMayBePresent('linux', () => false),
    false,
  )
  t.equal(
    gpuMayBePresent('linux', path => path === '/dev/nvidiactl'),
    true,
  )
  t.equal(
    gpuMayBePresent('darwin', () => false),
    true,
  )
})

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
const COUNTS = { steps: 0, width: 0, active: 0, tokens: 0 }

/** An engine with a child that records its orders. */
const setup = async (t: Test, sha256?: string, more: Partial<EngineOptions & EngineParts> = {}) => {
  const file = join(t.testdir(), 'weights.gguf')
  writeRandomModel(file, SMALL)
  const clock = new TestClock()
  const children: { orders: Order[]; killed: boolean; listener: ChildListener }[] = []
  /** Behaviour of the child when it is killed. */
  const world = { mortal: true }
  let spawnFake = (): void => {}
  const states: string[] = []
  const engine: Engine = new Engine(
    {
      weights: { label: 'small', file, sha256 },
      kind: 'chat',
      models: ['m'],
      contextLength: 4096,
      limits: LIMITS,
      threads: 1,
      gpu: 'off',
      loadTimeoutSeconds: 100,
      watchdogSeconds: 60,
      idleUnloadMinutes: 0,
      ...more,
    },
    {
      clock,
      logger: pino({ level: 'silent' }),
      leftovers: new Leftovers(clock),
      fetch: async () => {},
      makeRoom: async () => {},
      ...more,
      onChange: () => states.push(engine.report().state),
      spawn: (_slots, listener) => {
        const child = { orders: [] as Order[], killed: false, listener }
        children.push(child)
        spawnFake()
        return {
          pid: children.length,
          send: order => child.orders.push(order),
          kill: () => {
            child.killed = true
            if (world.mortal) queueMicrotask(() => listener.onEnd('was ended by SIGKILL'))
          },
        }
      },
    },
  )
  engine.start()
  t.teardown(() => engine.stop())
  const nextChild = () =>
    new Promise<void>(resolve => {
      spawnFake = resolve
    })
  const reply = (message: EngineReply) => children.at(-1)?.listener.onReply(message)
  const ready = () =>
    reply({ type: 'ready', slots: 1, contextLength: 2048, device: 'cpu', loadMs: 1 })
  const start = async () => {
    const spawning = nextChild()
    void engine.load()
    await spawning
    ready()
  }
  const events: EngineEvent[] = []
  const submit = () => engine.submit(WORK, 2, event => events.push(event))
  /** Lets time pass for a process that lives. */
  const beatFor = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      reply({ type: 'beat' })
      clock.advance(1000)
    }
  }
  const told = { reply, ready, start, events, submit, beatFor }
  return { file, engine, clock, children, world, states, nextChild, ...told }
}

t.test('an engine', async t => {
  t.test('loads within the limits of the weights, and reports in the wire format', async t => {
    const { engine, children, states, start } = await setup(t)
    t.equal(engine.report().state, 'cold')
    await start()
    t.strictSame(states, ['loading', 'ready'])
    t.match(children[0]?.orders, [{ type: 'load', contextLength: 2048, threads: 1, gpu: 'off' }])
    t.ok(EngineReport.parse(engine.report()))
  })

  t.test('is loaded by the first request, which waits for it', async t => {
    const { engine, children, nextChild, ready, submit, events, reply } = await setup(t)
    const spawning = nextChild()
    submit()
    await spawning
    t.strictSame([engine.report().state, engine.report().queued], ['loading', 1])
    ready()
    t.match(children[0]?.orders[1], { type: 'chat', job: 1 })
    reply({ type: 'step', counts: COUNTS, events: [{ type: 'text', job: 1, text: 'a' }] })
    const end = { type: 'end', job: 1, reason: 'stop', completionTokens: 1 } as const
    reply({ type: 'step', counts: COUNTS, events: [end] })
    t.match(events, [{ type: 'text', text: 'a' }, { type: 'end' }])
    t.equal(engine.report().slots_busy, 0)
  })

  t.test('keeps the slot of a cancelled request until the child has released it', async t => {
    const { engine, children, start, submit, events, reply } = await setup(t)
    await start()
    const cancel = submit()
    cancel()
    cancel()
    t.strictSame(children[0]?.orders.slice(2), [{ type: 'cancel', job: 1 }])
    t.equal(engine.report().slots_busy, 1)
    const end = { type: 'end', job: 1, reason: 'cancelled', completionTokens: 0 } as const
    reply({ type: 'step', counts: COUNTS, events: [end] })
    t.equal(engine.report().slots_busy, 0)
    t.strictSame(events, [])
  })

  t.test('that dies ends its requests and restarts after a pause', async t => {
    const { engine, clock, children, nextChild, ready, start, submit, events } = await setup(t)
    await start()
    submit()
    submit()
    children[0]?.listener.onEnd('was ended by SIGSEGV')
    t.match(events, [
      { type: 'error', error: { code: 'cell_unavailable', retryAfterSeconds: 1 } },
      { type: 'error', error: { code: 'cell_unavailable' } },
    ])
    t.match(engine.report(), { state: 'failed', slots_busy: 0, queued: 0, restarts: 1 })
    t.equal(engine.report().reason, 'the engine was ended by SIGSEGV; it restarts automatically')
    t.throws(submit, { code: 'cell_unavailable', retryAfterSeconds: 1 })
    const spawning = nextChild()
    clock.advance(1000)
    await spawning
    ready()
    t.equal(engine.report().state, 'ready')
    t.equal(engine.report().reason, undefined)
  })

  t.test('that dies repeatedly stays down for longer', async t => {
    const { engine, clock, children, nextChild, start, submit } = await setup(t)
    await start()
    for (const wait of [1000, 2000, 4000, 8000]) {
      children.at(-1)?.listener.onEnd('ended with code 1')
      const spawning = nextChild()
      clock.advance(wait)
      await spawning
    }
    children.at(-1)?.listener.onEnd('ended with code 1')
    t.match(engine.report().reason, /it crashed too often and rests for up to ten minutes; unload/)
    t.throws(submit, { code: 'cell_unavailable', retryAfterSeconds: 585 })
    t.equal(children.length, 5)
    engine.unload()
    const spawning = nextChild()
    submit()
    await spawning
    t.equal(engine.report().state, 'loading', 'an operator ends the rest')
  })

  t.test('that makes no step while busy is ended', async t => {
    const { engine, clock, children, start, submit, reply, beatFor } = await setup(t)
    await start()
    clock.advance(1_000_000)
    t.equal(children[0]?.killed, false, 'an idle engine may be silent')
    submit()
    beatFor(59)
    t.equal(children[0]?.killed, false)
    reply({ type: 'step', counts: COUNTS, events: [] })
    beatFor(59)
    t.equal(children[0]?.killed, false, 'a step counts')
    beatFor(1)
    t.equal(children[0]?.killed, true)
    await Promise.resolve()
    t.match(engine.report().reason, /made no step for 60 s/)
  })

  for (const [how, seconds] of [
    ['stops beating while it is busy', 30],
    ['hung before its first request', 0],
  ] as const)
    t.test(`that ${how} is ended after ten seconds`, async t => {
      const { engine, clock, children, start, submit, beatFor } = await setup(t)
      await start()
      submit()
      beatFor(seconds)
      clock.advance(7000)
      t.equal(children[0]?.killed, false)
      clock.advance(3000)
      t.equal(children[0]?.killed, true)
      await Promise.resolve()
      t.match(engine.report().reason, /did not answer for 10 s/)
    })

  t.test('that cannot be killed is given up, and no other starts beside it', async t => {
    const all = await setup(t)
    const { engine, clock, children, world, states, nextChild, start, submit, events, reply } = all
    await start()
    world.mortal = false
    submit()
    clock.advance(10_000)
    t.strictSame([children[0]?.killed, engine.report().state], [true, 'ready'])
    clock.advance(2000)
    t.match(events, [{ type: 'error', error: { code: 'cell_unavailable' } }])
    t.match(engine.report(), { state: 'failed', slots_busy: 0, restarts: 1 })
    t.match(engine.report().reason, /^the engine did not answer for 10 s, and cannot be ended;/)
    clock.advance(100_000)
    t.match(engine.report(), { state: 'failed', reason: /previous process cannot be ended/ })
    t.throws(submit, { code: 'cell_unavailable', message: /previous process cannot be ended/ })
    reply({ type: 'step', counts: COUNTS, events: [{ type: 'text', job: 1, text: 'a' }] })
    t.strictSame([children.length, events.length, states.includes('cold')], [1, 1, false])

    children[0]?.listener.onEnd('was ended by SIGKILL')
    const spawning = nextChild()
    clock.advance(5000)
    await spawning
    t.equal(engine.report().state, 'loading')
    world.mortal = true
  })

  t.test('that is restarted waits for the previous process', async t => {
    const { engine, clock, children, world, nextChild, start } = await setup(t)
    await start()
    world.mortal = false
    engine.stop()
    engine.start()
    const settled = engine.load()
    t.equal(engine.report().state, 'loading')
    clock.advance(2000)
    await settled
    t.match(engine.report(), { state: 'failed', reason: /previous process cannot be ended/ })
    t.equal(children.length, 1)
    const spawning = nextChild()
    children[0]?.listener.onEnd('was ended by SIGKILL')
    clock.advance(5000)
    await spawning
    world.mortal = true
  })

  t.test('that does not become ready is ended', async t => {
    const { engine, clock, children, nextChild } = await setup(t)
    const spawning = nextChild()
    void engine.load()
    await spawning
    clock.advance(100_000)
    await Promise.resolve()
    t.equal(children[0]?.killed, true)
    t.match(engine.report().reason, /was not ready within 100 s/)
  })

  t.test('whose weights the child refuses is not started again', async t => {
    const { engine, clock, children, nextChild, reply } = await setup(t)
    const spawning = nextChild()
    const settled = engine.load()
    await spawning
    reply({ type: 'failed', reason: 'unknown architecture', transient: false })
    await settled
    t.match(engine.report(), {
      state: 'failed',
      reason: 'small: unknown architecture',
      restarts: 0,
    })
    clock.advance(1_000_000)
    t.equal(children.length, 1)
  })

  t.test('with an unexpected digest never gets the file', async t => {
    const { engine, children } = await setup(t, '0'.repeat(64))
    await engine.load()
    t.match(engine.report(), { state: 'failed', reason: /^small: its sha256 is not 0000/ })
    t.equal(children.length, 0)
  })

  t.test('checks replaced weights again', async t => {
    const { engine, clock, children, nextChild, file } = await setup(t)
    writeFileSync(file, 'half a download')
    await engine.load()
    t.match(engine.report(), { state: 'failed', reason: 'small: it is not a GGUF file' })
    t.equal(children.length, 0)
    writeRandomModel(file, SMALL)
    const spawning = nextChild()
    clock.advance(60_000)
    await spawning
    t.equal(engine.report().state, 'loading')
  })

  t.test('that is stopped refuses waiting requests and can start again', async t => {
    const { engine, children, start, submit, events } = await setup(t)
    await start()
    submit()
    engine.stop()
    t.match(events, [{ type: 'error', error: { code: 'draining' } }])
    t.equal(children[0]?.killed, true)
    t.equal(engine.report().state, 'cold')
    t.throws(submit, { code: 'draining' })
    engine.start()
    await start()
    t.equal(engine.report().state, 'ready')
  })
})

t.test('restarted engines are new ones with the new limits', async t => {
  const file = join(t.testdir(), 'weights.gguf')
  writeRandomModel(file, SMALL)
  const children: { killed: boolean }[] = []
  const entry = { id: 'm', kind: 'chat', minimum_tier: 'free', weights: file, context_length: 512 }
  const engines = new Engines(Catalogue.parse([entry]), InferenceConfig.parse({ slots: 2 }), {
    clock: new TestClock(),
    logger: pino({ level: 'silent' }),
    fetch: async () => {},
    readMemory: async () => undefined,
    places: { modelsDir: t.testdirName, hubUrl: 'http://127.0.0.1:1' },
    spawn: (_slots, listener) => {
      const child = { killed: false }
      children.push(child)
      return {
        pid: children.length,
        send: ({ type }) => {
          const ready: EngineReply = {
            type: 'ready',
            slots: 3,
            device: 'cpu',
            loadMs: 1,
            contextLength: 512,
          }
          if (type === 'load') queueMicrotask(() => listener.onReply(ready))
        },
        kill: () => {
          child.killed = true
          queueMicrotask(() => listener.onEnd('was ended by SIGKILL'))
        },
      }
    },
  })
  const stop = new AbortController()
  await engines.start(stop.signal)
  const before = engines.engine('m')
  await engines.restart({ slots: 3 })
  t.match(engines.reports(), [{ slots: 3, state: 'ready', models: ['m'] }])
  t.not(engines.engine('m'), before)
  await engines.restart()
  t.match(engines.reports(), [{ slots: 3, state: 'ready' }])
  t.equal(children.length, 3)
  stop.abort()
  t.match(engines.reports(), [{ state: 'cold' }])
})
