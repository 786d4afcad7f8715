import t from 'tap'
import type { CellLink } from '../../../../coordinator/fleet/cells/cell-link.ts'
import { Fleet, readyModels } from '../../../../coordinator/fleet/cells/fleet.ts'
import { newId } from '../../../../shared/ids.ts'
import type { Announce } from '../../../../shared/wire/announce.ts'
import type { EngineReport, Sample } from '../../../../shared/wire/telemetry.ts'

const report = (state: EngineReport['state'], busy = 0): EngineReport => ({
  weights: 'w',
  kind: 'chat',
  models: ['m', 'n'],
  state,
  slots: 4,
  slots_busy: busy,
  queued: 0,
  context_length: 2048,
  restarts: 0,
})

const announce = (state: EngineReport['state'] = 'ready') =>
  ({ name: 'x', engines: [report(state)] }) as unknown as Announce

const sample = (state: EngineReport['state'], busy = 0) =>
  ({ engines: [report(state, busy)] }) as unknown as Sample

const linkOf = (cellId: string, closed: string[] = []): CellLink => ({
  cellId,
  isOpen: true,
  request: () => {
    throw new Error('not used')
  },
  roundTripMs: () => 2,
  close: () => {
    closed.push(cellId)
  },
})

const set = () => {
  const clock = { ms: 0 }
  const changes: string[] = []
  const fleet = new Fleet({
    limits: { suspectAfterMs: 7500, deadAfterMs: 12_000 },
    nowMs: () => clock.ms,
    onPresenceChange: (cell, from) => changes.push(`${from} -> ${cell.presence}`),
    onStaleBirth: ({ staleEpoch, epoch }) => changes.push(`set back: ${staleEpoch} < ${epoch}`),
  })
  const id = newId('cell')
  fleet.admit(id, 3)
  const comeUp = (epoch: number, state: EngineReport['state'] = 'ready') => {
    fleet.birth(id, epoch, announce(state))
    fleet.state(id, epoch, 'ready')
    fleet.linkUp(linkOf(id))
  }
  return { clock, changes, fleet, id, comeUp }
}

t.test('the epoch of a birth', async t => {
  t.test('is ignored and reported when it is lower than an earlier one', async t => {
    const { changes, fleet, id } = set()
    fleet.birth(id, 2, announce())
    t.notOk(fleet.cell(id)?.announce)
    t.strictSame(changes, ['set back: 2 < 3'])
    t.equal(fleet.cell(id)?.staleEpoch, 2)
    fleet.birth(id, 3, announce())
    t.ok(fleet.cell(id)?.announce)
    t.equal(fleet.cell(id)?.staleEpoch, undefined)
  })

  t.test('may be at most a million higher', async t => {
    const { fleet, id } = set()
    t.throws(() => fleet.birth(id, 1_000_004, announce()), { code: 'invalid_request' })
    t.equal(fleet.cell(id)?.epoch, 3)
    fleet.birth(id, 1_000_003, announce())
    t.equal(fleet.cell(id)?.epoch, 1_000_003)
  })
})

t.test('the fleet', async t => {
  t.test('routes to a cell only after birth, ready and link', async t => {
    const { fleet, id } = set()
    t.equal(fleet.cell(id)?.presence, 'unknown')
    fleet.linkUp(linkOf(id))
    t.notOk(fleet.pick('m'))
    fleet.birth(id, 4, announce())
    t.notOk(fleet.pick('m'))
    fleet.state(id, 4, 'ready')
    t.equal(fleet.pick('m')?.cellId, id)
    t.strictSame([...readyModels(fleet.cells())], ['m', 'n'])
  })

  t.test('removes a cell at once when its link is down, until it has a new one', async t => {
    const { fleet, id, comeUp } = set()
    comeUp(4)
    const link = fleet.cell(id)?.link as CellLink
    fleet.linkDown(link)
    t.notOk(fleet.pick('m'))
    fleet.linkUp(linkOf(id))
    fleet.linkDown(link)
    t.ok(fleet.pick('m'), 'the end of an old link does not touch the new one')
  })

  for (const [silentMs, presence, routed] of [
    [7500, 'ready', true],
    [7501, 'suspect', false],
    [12_000, 'suspect', false],
    [12_001, 'dead', false],
  ] as const)
    t.test(`marks a cell that is silent for ${silentMs} ms as ${presence}`, async t => {
      const { clock, fleet, id, comeUp } = set()
      comeUp(4)
      clock.ms = silentMs
      fleet.sweep()
      t.equal(fleet.cell(id)?.presence, presence)
      t.equal(fleet.pick('m') !== undefined, routed)
      fleet.touch(id)
      t.equal(fleet.cell(id)?.presence, 'ready', 'any packet brings it back')
      t.ok(fleet.pick('m'))
    })

  t.test('ignores the last will of an older start and accepts that of the current one', async t => {
    const { changes, fleet, id, comeUp } = set()
    comeUp(4)
    fleet.state(id, 3, 'lost')
    t.equal(fleet.cell(id)?.presence, 'ready')
    fleet.state(id, 4, 'lost')
    t.equal(fleet.cell(id)?.presence, 'dead')
    comeUp(5)
    t.strictSame(changes, ['unknown -> ready', 'ready -> dead', 'dead -> ready'])
  })

  t.test('ignores births and samples from before the highest known epoch', async t => {
    const { fleet, id } = set()
    fleet.birth(id, 2, announce())
    fleet.state(id, 2, 'ready')
    t.equal(fleet.cell(id)?.presence, 'unknown')
  })

  t.test('keeps a cell draining through silence', async t => {
    const { clock, fleet, id, comeUp } = set()
    comeUp(4)
    fleet.state(id, 4, 'draining')
    t.notOk(fleet.pick('m'))
    clock.ms = 8000
    fleet.sweep()
    fleet.touch(id)
    t.equal(fleet.cell(id)?.presence, 'draining')
  })

  t.test('selects cells whose model is loaded or loadable, not those where it failed', async t => {
    for (const [state, routed] of [
      ['ready', true],
      ['cold', true],
      ['loading', true],
      ['failed', false],
    ] as const) {
      const { fleet, comeUp } = set()
      comeUp(4, state)
      t.equal(fleet.serves('m'), routed, state)
    }
  })

  t.test('keeps the count of running requests while reports change', async t => {
    const { fleet, id, comeUp } = set()
    comeUp(4)
    const engine = fleet.pick('m')
    if (engine) engine.inFlight = 2
    fleet.sample(id, 4, sample('ready', 3))
    t.equal(fleet.pick('n'), engine, 'ids with the same weights share one engine')
    t.equal(engine?.others, 1)
  })

  t.test('does not count its own ended requests as those of others', async t => {
    const { fleet, id, comeUp } = set()
    comeUp(4)
    const engine = fleet.pick('m')
    if (engine) engine.inFlight = 3
    fleet.sample(id, 4, sample('ready', 3))
    if (engine) engine.inFlight = 0
    fleet.sweep()
    t.equal(engine?.others, 0)
  })

  t.test('does not admit a cell that is not enrolled, and closes its link', async t => {
    const { fleet } = set()
    const closed: string[] = []
    fleet.linkUp(linkOf('cell_other', closed))
    fleet.birth('cell_other', 1, announce())
    t.strictSame(closed, ['cell_other'])
    t.notOk(fleet.cell('cell_other'))
  })

  t.test('asks a cell whose birth it missed to announce itself again', async t => {
    const asked: string[] = []
    const fleet = new Fleet({
      limits: { suspectAfterMs: 1, deadAfterMs: 2 },
      nowMs: () => 0,
      onPresenceChange: () => {},
      onUnannounced: cellId => asked.push(cellId),
    })
    fleet.admit('known', 0)
    fleet.state('known', 1, 'ready')
    fleet.sample('unknown', 1, sample('ready'))
    t.strictSame(asked, ['known'])
  })

  t.test('keeps a cell that left during its standstill and comes back', async t => {
    const { clock, changes, fleet, id, comeUp } = set()
    comeUp(3)
    fleet.sweep()
    changes.length = 0
    clock.ms = 15_000
    fleet.state(id, 3, 'lost')
    fleet.sweep()
    fleet.state(id, 3, 'lost')
    t.strictSame([changes, fleet.cell(id)?.presence], [[], 'ready'])
    for (; clock.ms < 40_000; clock.ms += 500) fleet.sweep()
    t.equal(fleet.cell(id)?.presence, 'dead', 'one that does not come back')
  })

  t.test('excuses its own standstill, but not forever', async t => {
    const { clock, fleet, id, comeUp } = set()
    comeUp(4)
    fleet.sweep()
    clock.ms = 9000
    fleet.sweep()
    t.equal(fleet.cell(id)?.presence, 'ready', 'we did not listen for 9 s')
    for (clock.ms = 12_000; clock.ms <= 30_000; clock.ms += 3000) fleet.sweep()
    t.equal(fleet.cell(id)?.presence, 'dead')
    t.ok((fleet.cell(id)?.seenAtMs ?? 0) <= clock.ms)
  })

  t.test('forgets a revoked cell and closes its link', async t => {
    const { fleet, id, comeUp } = set()
    comeUp(4)
    const closed: string[] = []
    fleet.linkUp(linkOf(id, closed))
    fleet.forget(id)
    t.strictSame(closed, [id])
    t.notOk(fleet.pick('m'))
  })
})
