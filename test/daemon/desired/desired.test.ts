import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { DaemonConfig } from '../../../daemon/config.ts'
import {
  readDesired,
  readRegisteredModels,
  readSharedEnvelopes,
  readStartingConfig,
  writeDesired,
} from '../../../daemon/desired/desired-file.ts'
import { checkDocument, overlay, settingsOf } from '../../../daemon/desired/settings.ts'
import {
  type Event,
  reportOf,
  settingsIn,
  step,
  type TrialState,
  type Trouble,
} from '../../../daemon/desired/trial.ts'
import { DesiredService } from '../../../daemon/services/desired.ts'
import {
  type CellSettings,
  mergeDocuments,
  type ReportedBody,
} from '../../../shared/wire/desired.ts'
import { type Envelope, envelope } from '../../../shared/wire/envelope.ts'
import type { EngineReport } from '../../../shared/wire/telemetry.ts'
import { silent } from '../../support/cell.ts'

type DesiredOptions = ConstructorParameters<typeof DesiredService>[0]
const LOADING_MS = 600_000
const LASTING_MS = 15_000
const config = DaemonConfig.parse({ name: 'n' })
const PROBATION_MS = config.probation_seconds * 1000

const local: CellSettings = settingsOf(config)
const start: TrialState = { good: { local, wanted: { version: 0, document: {} } } }
const createDocument = (seconds: number) => ({ telemetry: { interval_seconds: seconds } })

const makeWanted = (version: number, document: object, nowMs = 0): Event => ({
  type: 'desired',
  wanted: { version, document: document as Record<string, unknown> },
  untilMs: nowMs + PROBATION_MS,
})
const troubleOf = (
  what: string | undefined,
  lastsMs = LASTING_MS,
  isLoading = false,
): Trouble | undefined => (what === undefined ? undefined : { what, lastsMs, isLoading })
const tick = (nowMs: number, ...trouble: Partial<Parameters<typeof troubleOf>>): Event => ({
  type: 'tick',
  nowMs,
  trouble: troubleOf(...(trouble as Parameters<typeof troubleOf>)),
})
const reload = (seconds: number, nowMs = 0): Event => ({
  type: 'reload',
  local: { ...local, ...createDocument(seconds) },
  untilMs: nowMs + PROBATION_MS,
})

/** State after the events, and all settings that were applied on the way. */
const applyEvents = (...events: Event[]) => {
  let state = start
  const applied: CellSettings[] = []
  for (const event of events) {
    const next = step(state, event)
    state = next.state
    if (next.apply) applied.push(next.apply)
  }
  return { state, applied, report: reportOf(state) }
}

t.test('the trial of new settings', async t => {
  for (const [title, events, state, appliedVersion, seconds] of [
    ['begins with what the file says', [], 'applied', 0, 5],
    ['puts them on probation', [makeWanted(1, createDocument(9))], 'probation', 1, 9],
    [
      'keeps them on probation before the time is over',
      [makeWanted(1, createDocument(9)), tick(PROBATION_MS - 1, 'gone')],
      'probation',
      1,
      9,
    ],
    [
      'forgives what has only just gone at the end',
      [makeWanted(1, createDocument(9)), tick(PROBATION_MS, 'gone', LASTING_MS - 1)],
      'probation',
      1,
      9,
    ],
    [
      'keeps what held when that is there again',
      [makeWanted(1, createDocument(9)), tick(PROBATION_MS, 'gone', 0), tick(PROBATION_MS + 1000)],
      'applied',
      1,
      9,
    ],
    [
      'waits for an engine that loads',
      [
        makeWanted(1, createDocument(9)),
        tick(PROBATION_MS + LOADING_MS - 1, 'gone', LASTING_MS, true),
      ],
      'probation',
      1,
      9,
    ],
    [
      'does not wait for ever for an engine that loads',
      [makeWanted(1, createDocument(9)), tick(PROBATION_MS + LOADING_MS, 'gone', LASTING_MS, true)],
      'rolled_back',
      0,
      5,
    ],
    ['keeps what held', [makeWanted(1, createDocument(9)), tick(PROBATION_MS)], 'applied', 1, 9],
    [
      'goes back when something does not run',
      [makeWanted(1, createDocument(9)), tick(PROBATION_MS, 'gone')],
      'rolled_back',
      0,
      5,
    ],
    [
      'does not try the same again',
      [
        makeWanted(1, createDocument(9)),
        tick(PROBATION_MS, 'gone'),
        makeWanted(1, createDocument(9), PROBATION_MS),
      ],
      'rolled_back',
      0,
      5,
    ],
    [
      'tries a newer one',
      [
        makeWanted(1, createDocument(9)),
        tick(PROBATION_MS, 'gone'),
        makeWanted(2, createDocument(9), PROBATION_MS),
      ],
      'probation',
      2,
      9,
    ],
    [
      'refuses a document of which nothing can be read',
      [makeWanted(1, { ...createDocument(0), x: 1 })],
      'refused',
      0,
      5,
    ],
    [
      'goes back at once when they cannot be applied',
      [makeWanted(1, createDocument(9)), { type: 'not applied', message: 'no' }],
      'rolled_back',
      0,
      5,
    ],
    ['needs none for what changes nothing', [makeWanted(1, createDocument(5))], 'applied', 1, 5],
    [
      'ends when the old ones are wanted',
      [makeWanted(1, createDocument(9)), makeWanted(2, {})],
      'applied',
      2,
      5,
    ],
    [
      'begins anew with the next ones, and the last that held stay the last that held',
      [
        makeWanted(1, createDocument(9)),
        makeWanted(2, createDocument(8), 30_000),
        tick(90_000, 'gone'),
      ],
      'rolled_back',
      0,
      5,
    ],
    [
      'has the time of the next ones',
      [
        makeWanted(1, createDocument(9)),
        makeWanted(2, createDocument(8), 30_000),
        tick(89_999, 'gone'),
      ],
      'probation',
      2,
      8,
    ],
    [
      'holds for the own file as well',
      [reload(7), tick(PROBATION_MS, 'gone')],
      'rolled_back',
      0,
      5,
    ],
    [
      'lays what the coordinator wants over the own file',
      [makeWanted(1, createDocument(9)), reload(7)],
      'probation',
      1,
      9,
    ],
  ] as [string, Event[], string, number, number][])
    t.test(title, async t => {
      const { report } = applyEvents(...events)
      t.match(report, { state, applied_version: appliedVersion, settings: createDocument(seconds) })
    })

  t.test('a reload keeps a rejected request of the coordinator rejected', async t => {
    const refused = [makeWanted(1, createDocument(9)), tick(PROBATION_MS, 'gone')]
    for (const more of [
      [reload(7)],
      [reload(7), tick(2 * PROBATION_MS)],
      [reload(7), tick(2 * PROBATION_MS, 'gone')],
      [reload(7), tick(2 * PROBATION_MS), reload(7)],
    ]) {
      const { report, state } = applyEvents(...refused, ...more)
      t.match(report, { desired_version: 1, applied_version: 0 })
      t.equal(step(state, makeWanted(1, createDocument(9))).state, state, 'it is not tried again')
    }
    t.match(applyEvents(reload(7), tick(PROBATION_MS, 'gone')).report, {
      desired_version: 0,
      applied_version: 0,
      state: 'rolled_back',
    })
  })

  const envelopes = { fleet: { max_speed_m_s: 1 } }
  const spoiled = { ...createDocument(8), envelopes: { fleet: { max_speed_m_s: -1 } }, x: 1 }
  const partly = [
    makeWanted(1, { ...createDocument(9), envelopes }),
    tick(PROBATION_MS),
    makeWanted(2, spoiled, PROBATION_MS),
  ]

  t.test('a member that cannot be read stays as it was, and the others are taken', async t => {
    const { report } = applyEvents(...partly, tick(2 * PROBATION_MS))
    t.match(report, { state: 'refused', desired_version: 2, applied_version: 2 })
    t.match(report.settings, { ...createDocument(8), envelopes })
    t.strictSame(
      report.errors.map(({ key }) => key),
      ['envelopes.fleet.max_speed_m_s', 'x'],
    )
  })

  t.test('a document that was taken in part is not tried again', async t => {
    for (const trouble of ['gone', undefined]) {
      const { state, report } = applyEvents(...partly, tick(2 * PROBATION_MS, trouble))
      t.equal(step(state, makeWanted(2, spoiled)).state, state)
      t.match(report, { state: trouble ? 'rolled_back' : 'refused', desired_version: 2 })
      t.match(report.errors.at(-1), { key: 'x' })
    }
  })

  t.test('a version on trial is not blamed on the older one that was taken in part', async t => {
    const next = [...partly, makeWanted(3, { ...createDocument(8), envelopes }, PROBATION_MS + 1)]
    const { report } = applyEvents(...next, tick(2 * PROBATION_MS))
    t.match(report, { state: 'applied', applied_version: 3, errors: { length: 0 } })
    const failed = applyEvents(...next, tick(2 * PROBATION_MS, 'gone'))
    t.match(failed.report, { state: 'rolled_back', desired_version: 3, errors: { length: 1 } })
    const again = step(failed.state, makeWanted(3, { ...createDocument(8), envelopes }))
    t.equal(again.state, failed.state, 'it is not tried again')
  })

  t.test('a trial that fails is blamed on its own version, not on a newer refused one', async t => {
    const { state } = applyEvents(
      makeWanted(1, createDocument(9)),
      makeWanted(2, { x: 1 }),
      tick(PROBATION_MS, 'gone'),
    )
    t.match(state.failure, { wanted: { version: 1 }, errors: { length: 1 } })
  })

  t.test('nothing is refused any more once the coordinator leaves the member out', async t => {
    const readable = makeWanted(2, { ...createDocument(8), envelopes })
    const { report } = applyEvents(...partly, tick(2 * PROBATION_MS), readable)
    t.match(report, { state: 'applied', applied_version: 2, errors: { length: 0 } })
  })

  t.test('the report says which key is wrong', async t => {
    const { report } = applyEvents(makeWanted(3, { ...createDocument(0), log: { level: 'loud' } }))
    t.strictSame(
      report.errors.map(({ key }) => key),
      ['telemetry.interval_seconds', 'log.level'],
    )
    t.match(report, { desired_version: 3, applied_version: 0 })
  })
})

const document = fc.oneof(
  fc.integer({ min: 1, max: 20 }).map(createDocument),
  fc.constant({}),
  fc.constant({ nonsense: true }),
)
const event = fc.oneof(
  fc.tuple(fc.nat(5), document).map(([version, body]) => makeWanted(version, body)),
  fc.record({ type: fc.constant('tick' as const), trouble: fc.option(fc.constant('gone')) }),
  fc.constant({ type: 'not applied' as const, message: 'no' }),
  fc.integer({ min: 1, max: 20 }).map(seconds => ({
    type: 'reload' as const,
    local: { ...local, ...createDocument(seconds) },
  })),
)

t.test('the report matches the settings in force after every order of events', async t => {
  const held = fc.check(
    fc.property(fc.array(fc.tuple(event, fc.nat(PROBATION_MS)), { size: '+1' }), events => {
      let state = start
      let inForce = settingsIn(start.good)
      let nowMs = 0
      for (const [one, passedMs] of events) {
        nowMs += passedMs
        const before = state
        const trouble = troubleOf(one.type === 'tick' && one.trouble ? 'gone' : undefined)
        const times = { nowMs, untilMs: nowMs + PROBATION_MS }
        const next = step(state, { ...one, ...times, trouble } as Event)
        state = next.state
        inForce = next.apply ?? inForce
        const basis = state.trial?.basis ?? state.good
        if (!isDeepStrictEqual(inForce, settingsIn(basis))) return false
        if (checkDocument(basis.wanted.document).faults.length > 0) return false
        const untilMs = before.trial?.untilMs ?? Number.POSITIVE_INFINITY
        const isProven = nowMs >= untilMs && trouble === undefined
        if (!isHarmless(before, state) && !isProven) return false
      }
      return true
    }),
    { numRuns: 300 },
  )
  t.notOk(held.failed, JSON.stringify(held.counterexample))
})

/** A new basis with the settings that held anyway needs no proof. */
const isHarmless = (before: TrialState, after: TrialState): boolean =>
  JSON.stringify(settingsIn(before.good)) === JSON.stringify(settingsIn(after.good))

t.test('documents', async t => {
  t.test('are merged key by key, and lists are replaced', async t => {
    const merged = mergeDocuments(
      { a: { x: 1, y: 1 }, list: [1, 2], b: 1 },
      { a: { y: 2 }, list: [3] },
      { b: { z: 1 } },
    )
    t.strictSame(merged, { a: { x: 1, y: 2 }, list: [3], b: { z: 1 } })
  })

  t.test('cannot reach the prototype', async t => {
    const hostile = JSON.parse('{"__proto__":{"polluted":1},"a":{"__proto__":{"polluted":1}}}')
    mergeDocuments({ a: {} }, hostile)
    t.notOk('polluted' in {})
    t.ok(checkDocument(hostile).faults.length > 0)
  })

  t.test('with keys that cannot be set remotely are refused', async t => {
    for (const key of ['coordinator', 'state_dir', 'catalogue', 'local', 'name'])
      t.ok(checkDocument({ [key]: {} }).faults.length > 0, key)
    t.ok(checkDocument({ inference: { gpu: 'off' } }).faults.length > 0)
  })

  t.test('without threads leave threads to the file', async t => {
    t.equal(overlay({ ...local, inference: { slots: 2, threads: 3 } }, {}).inference?.threads, 3)
  })
})

t.test('the file of the applied settings', async t => {
  const folder = mkdtempSync(join(tmpdir(), 'shoal-desired-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const held = { version: 4, document: createDocument(9) }
  const tried = { version: 5, document: createDocument(8) }

  t.test('restores the previous settings at a start', async t => {
    await writeDesired(folder, { good: { local, wanted: held } }, silent)
    const config = DaemonConfig.parse({ state_dir: folder })
    t.equal((await readStartingConfig(config)).telemetry.interval_seconds, 9)
  })

  t.test('marks settings on probation as failed', async t => {
    const trial = { basis: { local, wanted: tried }, untilMs: 1 }
    await writeDesired(folder, { good: { local, wanted: held }, trial }, silent)
    const { good, failure } = await readDesired(folder)
    t.strictSame(good, held)
    t.match(failure, { wanted: tried, state: 'rolled_back' })
  })

  t.test('keeps all members but the one that cannot be read, which is refused', async t => {
    const envelopes = { fleet: { max_speed_m_s: 1 } }
    const sound = { ...createDocument(9), envelopes }
    for (const [member, value] of Object.entries({
      models: { entries: 'of a newer build' },
      log: { level: 'loud' },
      x: 1,
    })) {
      const wanted = { version: 4, document: { ...sound, [member]: value } }
      await writeDesired(folder, { good: { local, wanted } }, silent)
      const { good, failure } = await readDesired(folder)
      t.strictSame(good, { version: 4, document: sound, unread: { [member]: value } }, member)
      await writeDesired(folder, { good: { local, wanted: good } }, silent)
      t.strictSame((await readDesired(folder)).good, good, 'the member is still in the file')
      t.match(failure, { wanted, state: 'refused', errors: [{ key: new RegExp(`^${member}`) }] })
      t.strictSame(await readSharedEnvelopes(folder), envelopes)
      t.strictSame(await readRegisteredModels(folder), undefined)
      const config = await readStartingConfig(DaemonConfig.parse({ state_dir: folder }))
      t.equal(config.telemetry.interval_seconds, 9)
    }
  })

  t.test('keeps the settings in force when another part of it cannot be read', async t => {
    const text = { good: held, highest: 'x', trying: { version: 5 }, failure: { state: 'new' } }
    writeFileSync(join(folder, 'desired.json'), JSON.stringify(text))
    t.strictSame(await readDesired(folder), { good: held, highest: 4 })
  })

  t.test('does not retry after a crash what was taken in part', async t => {
    const wanted = { version: 5, document: { ...createDocument(8), x: 1 } }
    const refused = { wanted, state: 'refused' as const, errors: [{ key: 'x', message: 'no' }] }
    const trial = { basis: { local, wanted: tried }, untilMs: 1 }
    await writeDesired(folder, { good: { local, wanted: held }, trial, failure: refused }, silent)
    t.match((await readDesired(folder)).failure, { wanted, state: 'rolled_back' })
    const other = { ...refused, wanted: { ...wanted, version: 3 } }
    await writeDesired(folder, { good: { local, wanted: held }, trial, failure: other }, silent)
    t.match((await readDesired(folder)).failure, { wanted: tried, state: 'rolled_back' })
  })

  t.test('forgets a refusal of what this build can read', async t => {
    const failure = { wanted: tried, state: 'refused' as const, errors: [{ key: '', message: '' }] }
    await writeDesired(folder, { good: { local, wanted: held }, failure }, silent)
    const { good, failure: none } = await readDesired(folder)
    t.equal(none, undefined)
    const taken = step({ good: { local, wanted: good } }, makeWanted(5, tried.document))
    t.match(taken, { state: { trial: { basis: { wanted: tried } } }, apply: tried.document })
  })

  for (const [title, text] of [
    ['is damaged', '{"good":'],
    ['is of another form', '{"good":{"version":1}}'],
  ] as const)
    t.test(`is ignored when it ${title}, but for limits that it may have held`, async t => {
      writeFileSync(join(folder, 'desired.json'), text)
      const { good, highest, failure } = await readDesired(folder)
      t.strictSame(good, { version: 0, document: {}, unread: { envelopes: null } })
      t.match({ highest, failure }, { highest: 0, failure: { state: 'refused' } })
      t.equal(await readSharedEnvelopes(folder), 'unreadable')
    })

  t.test('is readable only by its owner, and is lost after a disk error', async t => {
    await writeDesired(join(folder, 'desired.json', 'x'), start, silent)
    await writeDesired(folder, start, silent)
    t.match(JSON.parse(readFileSync(join(folder, 'desired.json'), 'utf8')), {
      good: { version: 0 },
    })
  })
})

/** The service with a clock, a disk, a health and a coordinator that the test moves. */
const rig = async (t: Test, folder: string, more: Partial<DesiredOptions> = {}) => {
  const stop = new AbortController()
  const world = {
    ms: 0,
    services: new Map([
      ['uplink connection', 'running'],
      ['telemetry', 'running'],
      ['ble', 'waiting'],
    ]),
    engines: [] as { weights: string; state: string; reason?: string }[],
    applied: [] as CellSettings[],
    reports: [] as ReportedBody[],
    failing: false,
  }
  const listeners = new Map<string, (message: Envelope, replica: string) => void>()
  let tick = () => {}
  const service = new DesiredService({
    stateDir: folder,
    uplink: {
      on: (name, listener) => {
        listeners.set(name, listener)
        return () => {}
      },
      onReady: () => () => {},
      onEnd: () => () => {},
      publishToAll: async (_name, body) => void world.reports.push(body as ReportedBody),
    },
    local,
    probationMs: PROBATION_MS,
    apply: async settings => {
      world.applied.push(settings)
      if (world.failing) throw new Error('it cannot be')
    },
    health: {
      view: () =>
        Object.fromEntries(
          [...world.services].map(([name, state]) => [
            name,
            { state: state as 'running', reason: undefined, since: 0 },
          ]),
        ),
    },
    engines: () => world.engines as EngineReport[],
    logger: silent,
    nowMs: () => world.ms,
    ...more,
    wait: (_ms, signal) =>
      new Promise(resolve => {
        tick = resolve
        signal.addEventListener('abort', () => resolve())
      }),
  })
  const fail = (error: Error): void => void t.fail(error.message)
  await service.start({ signal: stop.signal, fail })
  t.teardown(() => {
    stop.abort()
    // what it still writes comes before
    return service.reload(local)
  })
  /** Resolves with the next report. */
  const lastReport = async (): Promise<ReportedBody | undefined> => {
    const { length } = world.reports
    while (world.reports.length === length) await new Promise(resolve => setImmediate(resolve))
    return world.reports.at(-1)
  }
  const hear = (body: object) =>
    listeners.get('desired')?.(envelope('coordinator', 1, 'desired', body), 'rep_a')
  const want = (version: number, document: object) => {
    const next = lastReport()
    hear({ version, document })
    return next
  }
  const pass = (ms: number) => {
    const next = lastReport()
    world.ms += ms
    tick()
    return next
  }
  /** Lets time pass in which nothing is reported. */
  const passQuietly = async (ms: number) => {
    const { length } = world.reports
    world.ms += ms
    tick()
    for (let i = 0; i < 10; i++) await new Promise(resolve => setImmediate(resolve))
    t.equal(world.reports.length, length)
  }
  return { world, hear, reported: lastReport, want, pass, passQuietly, stop, service }
}

t.test('the settings service', async t => {
  const folder = (): string => {
    const made = mkdtempSync(join(tmpdir(), 'shoal-desired-'))
    t.teardown(() => rmSync(made, { recursive: true, force: true }))
    return made
  }

  t.test('keeps settings that held for a minute, also for the next start', async t => {
    const at = folder()
    const { world, want, pass } = await rig(t, at)
    t.match(await want(1, createDocument(9)), { state: 'probation' })
    t.match(world.applied, [createDocument(9)])
    t.match(await pass(PROBATION_MS), { state: 'applied', applied_version: 1 })
    t.strictSame((await readDesired(at)).good, { version: 1, document: createDocument(9) })
  })

  for (const [title, change] of [
    ['the coordinator is not reached', w => w.services.set('uplink connection', 'waiting')],
    ['a service does not run any more', w => w.services.set('telemetry', 'waiting')],
    ['an engine fails', w => w.engines.splice(0, 1, { weights: 'm', state: 'failed' })],
    [
      'an engine finds no memory any more',
      w => w.engines.splice(0, 1, { weights: 'm', state: 'cold', reason: 'it needs 9 GiB' }),
    ],
  ] as [string, (world: Awaited<ReturnType<typeof rig>>['world']) => unknown][])
    t.test(`rolls back when ${title} at the end`, async t => {
      const at = folder()
      const { world, want, pass, passQuietly } = await rig(t, at)
      world.engines = [{ weights: 'm', state: 'ready' }]
      await want(1, createDocument(9))
      change(world)
      await passQuietly(PROBATION_MS)
      const report = await pass(LASTING_MS)
      t.match(report, { state: 'rolled_back', applied_version: 0, settings: createDocument(5) })
      t.not(report?.errors[0]?.message, '')
      t.match(world.applied, [createDocument(9), createDocument(5)])
      t.match(await readDesired(at), { good: { version: 0 }, failure: { wanted: { version: 1 } } })
    })

  t.test('waits for engines that are reloading', async t => {
    const { world, want, pass, passQuietly } = await rig(t, folder())
    world.engines = [{ weights: 'm', state: 'ready' }]
    await want(1, createDocument(9))
    world.engines = [{ weights: 'm', state: 'loading' }]
    await passQuietly(PROBATION_MS)
    await passQuietly(LASTING_MS)
    world.engines = [{ weights: 'm', state: 'ready' }]
    t.match(await pass(1000), { state: 'applied', applied_version: 1 })
  })

  t.test('tries the local file even while the coordinator is unreachable', async t => {
    const { world, pass, service } = await rig(t, folder())
    world.services.set('uplink connection', 'waiting')
    await service.reload({ ...local, ...createDocument(7) })
    t.match(await pass(PROBATION_MS), { state: 'applied', settings: createDocument(7) })
  })

  t.test('does not treat a deliberate stop as a failure', async t => {
    const at = folder()
    const { want, stop } = await rig(t, at)
    await want(1, createDocument(9))
    t.match(await readDesired(at), { failure: { wanted: { version: 1 } } }, 'as after a crash')
    stop.abort()
    while ((await readDesired(at)).failure) await new Promise(resolve => setImmediate(resolve))
    t.strictSame(await readDesired(at), { good: { version: 0, document: {} }, highest: 1 })
  })

  t.test(
    'reports a stored member that it cannot read, and takes it when it is sent again',
    async t => {
      const at = folder()
      const wanted = { version: 3, document: { ...createDocument(9), log: { level: 'loud' } } }
      await writeDesired(at, { good: { local, wanted } }, silent)
      const { world, want, pass, service } = await rig(t, at)
      await service.reload({ ...local, tags: ['a'] })
      t.match(world.reports.at(-1), { state: 'probation', errors: [{ key: 'log.level' }] })
      await pass(PROBATION_MS)
      t.match(world.reports.at(-1), { state: 'refused', errors: [{ key: 'log.level' }] })
      await want(3, { ...createDocument(9), log: { level: 'debug' } })
      t.match(await pass(PROBATION_MS), { state: 'applied', settings: { log: { level: 'debug' } } })
    },
  )

  t.test('does not require services that were not running before', async t => {
    const { want, pass } = await rig(t, folder())
    await want(1, createDocument(9))
    t.match(await pass(PROBATION_MS), { state: 'applied' })
  })

  t.test('rolls back at once when settings cannot be applied, and continues', async t => {
    const { world, want } = await rig(t, folder())
    world.failing = true
    t.match(await want(1, createDocument(9)), { state: 'rolled_back', settings: createDocument(5) })
    world.failing = false
    t.match(await want(2, createDocument(9)), { state: 'probation' })
  })
})
