import t, { type Test } from 'tap'
import type { Cell } from '../../../../coordinator/fleet/cells/cell.ts'
import { CommandTurns } from '../../../../coordinator/fleet/control/command-turns.ts'
import { createCommands } from '../../../../coordinator/fleet/control/commands.ts'
import { openControl } from '../../../../coordinator/fleet/control/open.ts'
import type { EnrolledCell } from '../../../../coordinator/fleet/enrolment/cell.ts'
import { Listeners } from '../../../../coordinator/kernel/base/listeners.ts'
import { Timers } from '../../../../coordinator/kernel/base/timers.ts'
import type { SigningKey } from '../../../../coordinator/kernel/signing/signing.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import { type AckState, type Command, signAck } from '../../../../shared/wire/command.ts'
import { silent } from '../../../support/cell.ts'
import { createReplicaSet } from '../../../support/replicas.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { BY, temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'
import { addCell } from './cell-row.ts'

const CELL = newId('cell')
const signer = createSigner(generatePrivateKey())
const cell = createSigner(generatePrivateKey())

const VERBS = [
  { verb: 'ping', hazard: 'safe', description: '', timeout_seconds: 30 },
  { verb: 'open', hazard: 'caution', description: '', timeout_seconds: 30 },
] as const

const ping = { cellId: CELL, verb: 'ping', params: {}, mode: 'live', ttlSeconds: 60 } as const
const open = { ...ping, verb: 'open' } as const

const ack = (id: string, state: AckState) =>
  signAck({ command_id: id, cell_id: CELL, state, at: 1 }, cell)

/** Coordinators on one store, each with its own connections, over cells that the test connects. */
const scene = async (t: Test) => {
  const folder = await temporaryFolder(t)
  const set = createReplicaSet()
  const world = { now: 1_800_000_000_000 }
  /** One that serves has not looked, which ends whatever waits. */
  const start = async ({ isHere = true, isServing = false } = {}) => {
    const store = await temporaryStore(t, folder)
    const replicas = set.join()
    const its = { isHere, sent: [] as Command[] }
    const commands = await createCommands({
      ledger: store.ledger,
      replicas,
      signer,
      verbs: () => [...VERBS],
      capability: () => CAPABILITY,
      isHere: () => its.isHere,
      cellKey: async () => cell.publicKey,
      publish: async command => void its.sent.push(command),
      now: () => world.now,
      runtime: systemRuntime,
      logger: silent,
    })
    let refreshing = Promise.resolve()
    store.revisions.onChange('commands', () => {
      refreshing = commands.refresh()
    })
    /** Looks for changes as the store does from time to time. */
    const look = async () => {
      await store.revisions.poll()
      await refreshing
      await commands.close()
    }
    if (isServing) t.teardown(look)
    else await look()
    return { commands, replicas, store, its, look }
  }
  const [one, two] = [await start(), await start()]
  await addCell(one.store.ledger, CELL, cell.publicKey)
  const audit = async () => {
    const query = one.store.ledger.read.selectFrom('audit').select('action').orderBy('seq')
    return (await query.execute()).map(({ action }) => action)
  }
  return { one, two, start, set, world, audit }
}

t.test('an ack that another coordinator hears ends the command for its creator', async t => {
  const { one, two, audit } = await scene(t)
  const { id } = await one.commands.create(ping, BY)
  t.strictSame([one.its.sent.length, two.its.sent.length], [1, 0])
  for (const state of ['accepted', 'executing'] as const)
    await two.commands.acknowledge(CELL, ack(id, state))
  await two.commands.close()
  await one.look()
  t.match(await one.commands.get(id), { state: 'executing' })
  await two.commands.acknowledge(CELL, ack(id, 'succeeded'))
  await two.commands.close()
  await one.look()
  t.match(await one.commands.get(id), { state: 'succeeded' })
  t.strictSame(await audit(), ['command.create', 'command.succeeded'])
})

t.test('a caller that waits at the creator learns at once what another has stored', async t => {
  const { one, two } = await scene(t)
  const { id } = await one.commands.create(ping, BY)
  await two.commands.acknowledge(CELL, ack(id, 'succeeded'))
  await two.commands.close()
  t.match(await one.commands.get(id), { state: 'succeeded' })
})

t.test('the turn of a command is waited for by time, however long a look takes', async t => {
  const { one, two, world } = await scene(t)
  const first = await one.commands.create(open, BY)
  const clock = { nowMs: 0, waits: 0 }
  const turns = new CommandTurns(
    {
      ledger: two.store.ledger,
      replicas: two.replicas,
      verbs: () => [...VERBS],
      now: () => world.now,
      logger: silent,
      wait: async () => void clock.waits++,
      nowMs: () => {
        clock.nowMs += 1000
        return clock.nowMs
      },
    },
    { get: () => undefined },
  )
  const turn = await turns.find({ ...first, id: newId('cmd'), fence: first.fence + 1 })
  await turn?.()
  t.equal(clock.waits, 3, 'looks of a second fill the three seconds')
})

t.test('an ack that both coordinators hear is audited once', async t => {
  const { one, two, audit } = await scene(t)
  const { id } = await one.commands.create(ping, BY)
  for (const { commands } of [one, two]) await commands.acknowledge(CELL, ack(id, 'succeeded'))
  await Promise.all([one.commands.close(), two.commands.close()])
  t.strictSame(await audit(), ['command.create', 'command.succeeded'])
})

t.test('a coordinator with an old copy of a command does not overwrite its end', async t => {
  const { one, two, world, audit } = await scene(t)
  const { id } = await one.commands.create(ping, BY)
  await two.commands.acknowledge(CELL, ack(id, 'succeeded'))
  await two.commands.close()
  world.now += 3600_000
  one.commands.sweep()
  await one.look()
  t.match(await one.commands.get(id), { state: 'succeeded' })
  t.strictSame(await audit(), ['command.create', 'command.succeeded'])
})

t.test('a command that two coordinators give up ends once', async t => {
  const { one, two, world, set, audit } = await scene(t)
  await one.commands.create(ping, BY)
  set.leave(one.replicas)
  await two.commands.takeOver()
  world.now += 3600_000
  one.commands.sweep()
  two.commands.sweep()
  await Promise.all([one.commands.close(), two.commands.close()])
  t.strictSame(await audit(), ['command.create', 'command.unknown'])
})

for (const request of [ping, open])
  t.test(`${request.verb} is sent by the coordinator that has the cell`, async t => {
    const { one, two } = await scene(t)
    one.its.isHere = false
    const { id } = await one.commands.create(request, BY)
    await one.look()
    await two.look()
    t.strictSame(
      two.its.sent.map(command => command.id),
      [id],
    )
    await one.look()
    t.match(await one.commands.get(id), { state: 'sent', sends: 1 })
    t.strictSame(one.its.sent, [])
  })

t.test('an offered command is sent once, though two coordinators have the cell', async t => {
  const { one, two, start } = await scene(t)
  const three = await start()
  one.its.isHere = false
  await one.commands.create(open, BY)
  await one.look()
  await Promise.all([two.look(), three.look()])
  t.equal(two.its.sent.length + three.its.sent.length, 1)
})

t.test('an offered command is sent before a later one of another coordinator', async t => {
  const { one, two } = await scene(t)
  one.its.isHere = false
  const first = await one.commands.create(ping, BY)
  const second = await two.commands.create(open, BY)
  await two.commands.close()
  t.strictSame(
    two.its.sent.map(({ id }) => id),
    [first.id, second.id],
  )
})

t.test('a command for a lane waits for an earlier one of another coordinator', async t => {
  const { start } = await scene(t)
  const first = await start({ isServing: true })
  const second = await start({ isServing: true })
  const earlier = await first.commands.create(ping, BY)
  const later = await second.commands.create(open, BY)
  const next = await second.commands.create(ping, BY)
  const beside = await second.commands.create({ ...ping, deviceId: 'robot-1' }, BY)
  const sent = () => second.its.sent.map(({ id }) => id)
  t.strictSame(sent(), [beside.id], 'one of another device waits for nothing')
  await first.commands.acknowledge(CELL, ack(earlier.id, 'accepted'))
  first.commands.sweep()
  await waitUntil('the cell has answered the earlier one', () => sent().length === 3)
  t.strictSame(sent(), [beside.id, later.id, next.id])
})

t.test('a cell that connects is sent what others offer before later commands', async t => {
  const { one, two } = await scene(t)
  one.its.isHere = false
  two.its.isHere = false
  const first = await one.commands.create(ping, BY)
  const second = await two.commands.create(ping, BY)
  two.its.isHere = true
  two.commands.sendOpen(CELL)
  await two.commands.close()
  t.strictSame(
    two.its.sent.map(({ id }) => id),
    [first.id, second.id],
  )
})

t.test('a command whose cell went away from its coordinator is sent again by another', async t => {
  const { one, two } = await scene(t)
  const { id } = await one.commands.create(ping, BY)
  one.its.isHere = false
  one.commands.sweep()
  await one.look()
  await two.look()
  t.strictSame(
    two.its.sent.map(command => command.id),
    [id],
  )
})

t.test('a command of a coordinator that was killed is sent again by another', async t => {
  const { one, two, set } = await scene(t)
  const { id } = await one.commands.create(open, BY)
  await one.look()
  set.leave(one.replicas)
  await two.commands.takeOver()
  await two.look()
  t.strictSame(
    two.its.sent.map(command => command.id),
    [id],
  )
  await two.commands.acknowledge(CELL, ack(id, 'succeeded'))
  await two.commands.close()
  t.match(await one.commands.get(id), { id })
})

t.test(
  'a command that never reached any coordinator with its cell expires as not sent',
  async t => {
    const { one, two, world, audit } = await scene(t)
    one.its.isHere = false
    two.its.isHere = false
    const { id } = await one.commands.create(open, BY)
    await one.look()
    await two.look()
    world.now += 60_000
    two.commands.sweep()
    await two.look()
    await one.look()
    t.match(await one.commands.get(id), { state: 'expired', reason: 'not_sent' })
    t.strictSame(await audit(), ['command.create', 'command.expired'])
  },
)

t.test('a command whose ack was lost with another coordinator is sent again, once', async t => {
  const { one, two, set } = await scene(t)
  const { id } = await one.commands.create(ping, BY)
  set.leave(two.replicas)
  for (let i = 0; i < 2; i++) await one.commands.takeOver()
  t.strictSame(
    one.its.sent.map(command => command.id),
    [id, id],
  )
})

/** Numbers from 0 to below 1, always the same ones for a seed. */
const createRandom = (seed: number): (() => number) => {
  let state = seed
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return state / 2_147_483_648
  }
}

for (const seed of [1, 2, 3])
  t.test(`every command of a history ends once (seed ${seed})`, async t => {
    const random = createRandom(seed)
    const choose = <T>(all: readonly T[]): T => all[Math.floor(random() * all.length)] as T
    const { one, two, start, world, audit } = await scene(t)
    const all = [one, two, await start()]
    const ids: string[] = []
    const heard = new Set<string>()
    const steps: (() => unknown)[] = [
      async () => {
        const { id } = await choose(all).commands.create(choose([ping, open]), BY)
        ids.push(id)
      },
      () => {
        const { its } = choose(all)
        its.isHere = !its.isHere
      },
      () => {
        for (const { its, commands } of all) if (its.isHere) commands.sendOpen(CELL)
      },
      async () => {
        const id = ids.length > 0 && choose(ids)
        if (!id || !all.some(({ its }) => its.sent.some(command => command.id === id))) return
        const states = choose([['accepted'], ['executing'], ['executing', 'succeeded']] as const)
        if (states.length === 2) heard.add(id)
        const { commands } = choose(all)
        await Promise.all(states.map(state => commands.acknowledge(CELL, ack(id, state))))
      },
      () => choose(all).look(),
      () => choose(all).commands.takeOver(),
      () => {
        world.now += Math.round(random() * 20_000)
        choose(all).commands.sweep()
      },
    ]
    for (let step = 0; step < 300; step++) await choose(steps)()
    world.now += 3600_000
    for (const { commands, look } of [...all, ...all]) {
      await look()
      commands.sweep()
      await look()
    }
    const rows = await one.store.ledger.read
      .selectFrom('commands')
      .select(['id', 'state'])
      .execute()
    t.equal(rows.length, ids.length)
    for (const { id, state } of rows)
      if (heard.has(id)) t.equal(state, 'succeeded', id)
      else t.match(state, /^(unknown|expired)$/, id)
    const query = one.store.ledger.read.selectFrom('audit').select(['subject', 'action'])
    const ends = (await query.orderBy('seq').execute()).filter(({ subject }) => subject !== CELL)
    for (const [id, own] of Map.groupBy(ends, ({ subject }) => subject)) {
      const actions = own.map(({ action }) => action)
      t.strictSame(actions, [...new Set(actions)], `${id} is audited once`)
      const last = heard.has(id ?? '') ? 'command.succeeded' : actions[0]
      t.equal(actions.at(-1), last)
    }
    for (const id of ids) {
      const sent = all.flatMap(({ its }) => its.sent).filter(command => command.id === id)
      if (sent[0]?.verb === 'open') t.ok(sent.length <= 2, `${id} is sent twice at most`)
    }
    t.equal((await audit()).filter(action => action === 'command.create').length, ids.length)
  })

t.test('a command ends for its creator, whichever coordinator hears the cell', async t => {
  const folder = await temporaryFolder(t)
  const set = createReplicaSet()
  const sent: string[] = []
  const start = async () => {
    const store = await temporaryStore(t, folder, { pollMilliseconds: 20 })
    const stack = new AsyncDisposableStack()
    t.teardown(() => stack.disposeAsync())
    const live = { id: CELL, presence: 'ready', announce: { verbs: VERBS, capability: CAPABILITY } }
    return openControl({
      config: { upstreams: { egress: 'on' }, commands: { urgent_answer_seconds: 5 } },
      store,
      replicas: set.join(),
      signing: signer as SigningKey,
      models: {
        settingsFor: () => undefined,
        version: 0,
        changes: new Listeners(),
        look: async () => {},
      },
      cells: { get: async () => ({ id: CELL, publicKey: cell.publicKey }) as EnrolledCell },
      fleet: { cell: () => live as unknown as Cell, cells: () => [] },
      stops: { findCovering: () => undefined },
      alertSources: new Set(),
      bus: { publish: async (_name, _cellId, _type, _body, id = '') => void sent.push(id) },
      leaderWork: { every: () => {}, runOnce: async () => {} },
      stack,
      schedules: new Timers({ stack, logger: silent, runtime: systemRuntime }),
      logger: silent,
      now: Date.now,
      runtime: systemRuntime,
    })
  }
  const [one, two] = [await start(), await start()]
  await addCell((await temporaryStore(t, folder)).ledger, CELL, cell.publicKey)
  const { id } = await one.views.commands.create(ping, BY)
  t.strictSame(sent, [id])
  set.join()
  const later = await one.views.commands.create(ping, BY)
  t.strictSame(sent, [id, later.id], 'a coordinator that joins takes nothing over')
  two.controlReceiver.onAck(CELL, ack(id, 'succeeded'))
  const stateOf = async () => (await one.views.commands.get(id))?.state
  await waitUntil('the end is known', async () => (await stateOf()) === 'succeeded')
})
