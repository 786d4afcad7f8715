import fc from 'fast-check'
import t from 'tap'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { Fleet } from '../../../../coordinator/fleet/cells/fleet.ts'
import { createMassLoss } from '../../../../coordinator/fleet/cells/mass-loss.ts'
import { type DeclaredState, presenceOf } from '../../../../coordinator/fleet/cells/presence.ts'
import type { Announce } from '../../../../shared/wire/announce.ts'
import { engine, sampleOf } from '../series/samples.ts'

const LIMITS = { suspectAfterMs: 7500, deadAfterMs: 12_000 }

t.test('presence follows from notices, silence, operator and engines, in this order', async t => {
  for (const [declared, silentMs, drained, failing, presence] of [
    [undefined, 0, false, false, 'unknown'],
    [undefined, 99_999, true, true, 'unknown'],
    ['lost', 0, false, false, 'dead'],
    ['stopped', 0, true, true, 'stopped'],
    ['stopped', 99_999, false, false, 'stopped'],
    ['ready', 12_001, false, false, 'dead'],
    ['draining', 7501, false, false, 'suspect'],
    ['draining', 12_001, false, false, 'stopped'],
    ['ready', 7501, true, true, 'suspect'],
    ['draining', 0, false, true, 'draining'],
    ['ready', 0, true, true, 'draining'],
    ['ready', 0, false, true, 'degraded'],
    ['ready', 7500, false, false, 'ready'],
  ] as const)
    t.equal(presenceOf({ declared, silentMs, drained, failing }, LIMITS), presence)
  const silent = { declared: 'draining', silentMs: 12_001, drained: false, failing: false } as const
  t.equal(presenceOf({ ...silent, saysStop: true }, LIMITS), 'dead', 'it would have said `stopped`')
})

const announce = (...engines: ReturnType<typeof engine>[]) =>
  ({ name: 'x', engines }) as unknown as Announce

const linkOf = (cellId: string) => ({ cellId, close: () => {} }) as unknown as CellLink

const set = () => {
  const clock = { ms: 0 }
  const fleet = new Fleet({ limits: LIMITS, nowMs: () => clock.ms, onPresenceChange: () => {} })
  fleet.admit('c', 0)
  fleet.birth('c', 1, announce(engine(0)))
  fleet.state('c', 1, 'ready')
  fleet.linkUp(linkOf('c'))
  return { clock, fleet, cell: () => fleet.cell('c') }
}

t.test('a drained cell gets no new requests until it is resumed', async t => {
  const { fleet, cell } = set()
  fleet.drain('c', true)
  t.equal(cell()?.presence, 'draining')
  t.notOk(fleet.pick('m'))
  t.ok(cell()?.link, 'its link stays for the running ones')
  fleet.state('c', 1, 'ready')
  t.equal(cell()?.presence, 'draining', 'the cell itself does not end it')
  fleet.drain('c', false)
  t.ok(fleet.pick('m'))
})

t.test('a cell that was stopped before a start stays stopped until it comes', async t => {
  const fleet = new Fleet({ limits: LIMITS, nowMs: () => 0, onPresenceChange: () => {} })
  fleet.admit('c', 1)
  fleet.recallStop('c')
  fleet.recallStop('unknown')
  t.equal(fleet.cell('c')?.presence, 'stopped')
  fleet.birth('c', 2, announce(engine(0)))
  fleet.state('c', 2, 'ready')
  fleet.recallStop('c')
  t.equal(fleet.cell('c')?.presence, 'ready')
})

t.test('a connection that breaks after the last word of a stop is no loss', async t => {
  const { fleet, cell } = set()
  fleet.state('c', 1, 'stopped')
  fleet.state('c', 1, 'lost')
  t.equal(cell()?.presence, 'stopped')
  fleet.birth('c', 2, announce(engine(0)))
  fleet.state('c', 2, 'lost')
  t.equal(cell()?.presence, 'dead', 'the next start is another matter')
})

t.test('a cell with a failed engine is degraded and serves with its other engines', async t => {
  const { fleet, cell } = set()
  const failed = engine(0, { weights: 'v', models: ['n'], state: 'failed' })
  fleet.sample('c', 1, sampleOf(1, { engines: [engine(0), failed] }))
  t.equal(cell()?.presence, 'degraded')
  t.ok(fleet.pick('m'))
  t.notOk(fleet.pick('n'))
  fleet.sample('c', 1, sampleOf(2, { engines: [engine(0)] }))
  t.equal(cell()?.presence, 'ready')
})

t.test('a standstill of the coordinator does not count as silence of the cells', async t => {
  const { clock, fleet, cell } = set()
  fleet.sweep()
  clock.ms = 30_000
  fleet.sweep()
  t.equal(cell()?.presence, 'ready')
  for (let i = 0; i < 60; i++) {
    clock.ms += 250
    fleet.sweep()
  }
  t.equal(cell()?.presence, 'dead', 'silence that was listened to counts')
})

/** One thing that may happen to a cell; wills and words may come late, from an older start. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('connect' as const), restarted: fc.boolean() }),
  fc.record({ kind: fc.constant('greet' as const) }),
  fc.record({ kind: fc.constant('will' as const), age: fc.nat(3) }),
  fc.record({ kind: fc.constant('old word' as const), age: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ kind: fc.constant('drain' as const) }),
  fc.record({ kind: fc.constant('stop' as const) }),
  fc.record({ kind: fc.constant('packet' as const) }),
  fc.record({ kind: fc.constant('time' as const), ms: fc.nat(9000) }),
)

t.test(
  'after any history the presence of a cell follows from its last notice and its silence',
  async () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), steps => {
        const clock = { ms: 0 }
        const fleet = new Fleet({
          limits: LIMITS,
          nowMs: () => clock.ms,
          onPresenceChange: () => {},
        })
        fleet.admit('c', 0)
        const model = {
          epoch: 0,
          born: false,
          word: undefined as DeclaredState | undefined,
          stopped: undefined as number | undefined,
          seenMs: 0,
        }
        let epoch = 1
        const hear = (word: DeclaredState) => {
          if (!model.born || epoch < model.epoch) return
          const stopped = word === 'stopped' ? epoch : undefined
          Object.assign(model, { word, stopped, seenMs: clock.ms })
        }
        const birth = () => Object.assign(model, { epoch, born: true, seenMs: clock.ms })

        for (const one of steps) {
          if (one.kind === 'connect') {
            if (one.restarted) epoch++
            fleet.birth('c', epoch, announce(engine(0)))
            birth()
          } else if (one.kind === 'greet') {
            fleet.state('c', epoch, 'ready')
            hear('ready')
          } else if (one.kind === 'will') {
            const of = Math.max(0, epoch - one.age)
            fleet.state('c', of, 'lost')
            // after a clean stop, the will of the same start is no news
            if (of >= model.epoch && of !== model.stopped) hear('lost')
          } else if (one.kind === 'old word') {
            const of = Math.max(0, epoch - one.age)
            if (of < model.epoch) {
              fleet.birth('c', of, announce())
              fleet.state('c', of, 'draining')
            }
          } else if (one.kind === 'drain' || one.kind === 'stop') {
            const word = one.kind === 'drain' ? 'draining' : 'stopped'
            fleet.state('c', epoch, word)
            hear(word)
          } else if (one.kind === 'packet') {
            fleet.touch('c')
            model.seenMs = clock.ms
          } else
            for (let left = one.ms; left > 0; left -= 250) {
              clock.ms += Math.min(250, left)
              fleet.sweep()
            }
          const signs = { declared: model.word, drained: false, failing: false }
          const expected = presenceOf({ ...signs, silentMs: clock.ms - model.seenMs }, LIMITS)
          const { presence } = fleet.cell('c') ?? {}
          if (presence !== expected) throw new Error(`${presence}, not ${expected}`)
          const lost = model.word === 'lost' || clock.ms - model.seenMs > LIMITS.deadAfterMs
          if (presence === 'dead' && !lost) throw new Error('a false lost')
        }
      }),
      { numRuns: 300 },
    )
  },
)

t.test('the loss of many cells at once', async t => {
  const rig = (cells: number) => {
    const clock = { ms: 0 }
    const told: boolean[] = []
    const loss = createMassLoss(
      () => clock.ms,
      degraded => told.push(degraded),
    )
    for (let i = 0; i < cells; i++) loss.note(`c${i}`, 'ready')
    const lose = (from: number, to: number) => {
      for (let i = from; i < to; i++) loss.note(`c${i}`, 'dead')
    }
    return { clock, told, loss, lose }
  }

  for (const [cells, lost, degraded] of [
    [10, 5, false],
    [10, 6, true],
    [11, 6, true],
    [3, 2, false],
    [3, 3, true],
    [2, 2, false],
    [1, 1, false],
    [10_000, 5001, true],
  ] as const)
    t.test(`${lost} of ${cells} ${degraded ? 'degrades' : 'does not degrade'}`, async t => {
      const { loss, lose, told } = rig(cells)
      lose(0, lost)
      t.equal(loss.isDegraded(), degraded)
      t.strictSame(told, degraded ? [true] : [], 'it is told once')
      t.equal(loss.isMissing('c0'), degraded)
    })

  t.test('that takes longer than 10 s counts as separate losses', async t => {
    const { clock, loss, lose } = rig(20)
    lose(0, 10)
    clock.ms = 10_001
    lose(10, 15)
    t.notOk(loss.isDegraded())
  })

  t.test('is over when nine of ten are back or the others are revoked', async t => {
    const { told, loss, lose } = rig(20)
    lose(0, 12)
    for (let i = 0; i < 9; i++) loss.note(`c${i}`, 'ready')
    loss.note('c9', 'gone')
    t.ok(loss.isDegraded(), '2 of 19 are missing')
    loss.note('c10', 'draining')
    t.notOk(loss.isDegraded())
    t.notOk(loss.isMissing('c11'))
    t.strictSame(told, [true, false])
  })

  t.test('does not count cells that were stopped', async t => {
    const { loss, lose } = rig(9)
    for (let i = 0; i < 6; i++) loss.note(`c${i}`, 'stopped')
    t.notOk(loss.isDegraded())
    lose(6, 9)
    t.ok(loss.isDegraded(), 'the loss of all others counts')
    for (let i = 0; i < 6; i++) t.notOk(loss.isMissing(`c${i}`))
  })

  t.test('does not count cells that never connected', async t => {
    const { loss, lose } = rig(2)
    lose(2, 50)
    t.notOk(loss.isDegraded())
  })
})
