import t, { type Test } from 'tap'
import { commandTable } from '../../../../coordinator/fleet/control/command.table.ts'
import {
  type CommandRecord,
  type CommandState,
  follows,
  newRecord,
  toStoredCommand,
} from '../../../../coordinator/fleet/control/command.ts'
import { makeCommand } from '../../../../coordinator/fleet/control/command-request.ts'
import { type Commands, createCommands } from '../../../../coordinator/fleet/control/commands.ts'
import { UnconfirmedStops } from '../../../../coordinator/fleet/control/unconfirmed-stops.ts'
import { WriteBehind } from '../../../../coordinator/fleet/control/write-behind.ts'
import { withChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import { StoreFault } from '../../../../coordinator/kernel/store/faults.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import {
  type Ack,
  type AckState,
  type Command,
  isGenuineCommand,
  signAck,
  type VerbFacts,
} from '../../../../shared/wire/command.ts'
import { silent } from '../../../support/cell.ts'
import { ARM, ROVER_ID } from '../../../support/device-ids.ts'
import { soleReplica } from '../../../support/replicas.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'
import { addCell } from './cell-row.ts'

type CommandsParts = Parameters<typeof createCommands>[0]

const CELL = newId('cell')
const coordinator = createSigner(generatePrivateKey())
const cell = createSigner(generatePrivateKey())
const other = createSigner(generatePrivateKey())

const facts = (verb: string, hazard: VerbFacts['hazard']): VerbFacts => ({
  verb,
  hazard,
  description: '',
  timeout_seconds: 30,
})

/** Commands on a real store, with a clock, a network and a cell that the test moves. */
const rig = async (t: Test, given: Partial<Omit<CommandsParts, 'replicas'>> = {}) => {
  const store = await temporaryStore(t)
  await addCell(store.ledger, CELL, cell.publicKey)
  const failing = { writes: false, answers: false }
  const ledger = withChangeHook(store.ledger, async (work, commit) => {
    if (failing.writes) throw new Error('disk full')
    const result = await commit(work)
    if (failing.answers) throw new StoreFault('uncertain', 'the answer was lost', undefined)
    return result
  })
  const world = { now: 1_800_000_000_000, here: true, level: CAPABILITY, sent: [] as Command[] }
  const parts: Omit<CommandsParts, 'replicas'> = {
    ledger,
    signer: coordinator,
    verbs: () => [
      facts('ping', 'safe'),
      facts('open', 'caution'),
      facts('fly', 'unsafe'),
      { ...facts('stop', 'safe'), urgent: true },
    ],
    capability: () => world.level,
    isHere: () => world.here,
    cellKey: async () => cell.publicKey,
    publish: async command => void world.sent.push(command),
    now: () => world.now,
    runtime: systemRuntime,
    logger: silent,
    ...given,
  }
  /** Starts again, like a process to which no cell has connected yet. */
  const restart = async () => {
    const { here } = world
    world.here = false
    const commands = await createCommands({ ...parts, replicas: soleReplica() })
    world.here = here
    return commands
  }
  const commands = await restart()
  const audit = async () => {
    const rows = store.ledger.read.selectFrom('audit').select(['action', 'outcome']).orderBy('seq')
    return (await rows.execute()).map(({ action, outcome }) => `${action} ${outcome}`)
  }
  return { commands, restart, world, audit, failing }
}

const ping = {
  cellId: CELL,
  verb: 'ping',
  params: {},
  mode: 'live' as const,
  ttlSeconds: 60,
}

const ack = (id: string, state: AckState, signer = cell, more: Partial<Ack> = {}): Ack =>
  signAck({ command_id: id, cell_id: CELL, state, at: 1, ...more }, signer)

const stateOf = async (commands: Commands, id: string) => (await commands.get(id))?.state

t.test('states', async t => {
  for (const [from, to, isNews] of [
    ['queued', 'accepted', true],
    ['sent', 'rejected', true],
    ['executing', 'accepted', false],
    ['executing', 'executing', false],
    ['accepted', 'unknown', true],
    ['succeeded', 'failed', false],
    ['expired', 'succeeded', false],
    ['unknown', 'succeeded', true],
    ['unknown', 'executing', false],
    ['unknown', 'unknown', false],
  ] as [CommandState, AckState, boolean][])
    t.test(`${to} ${isNews ? 'follows' : 'does not follow'} ${from}`, async t => {
      t.equal(follows(from, to), isNews)
    })
})

t.test('a command', async t => {
  t.test('is signed, sent, and updated by the reports of the cell', async t => {
    const { commands, world, audit } = await rig(t)
    const { id } = await commands.create(ping, BY)
    const [sent] = world.sent
    t.ok(sent && isGenuineCommand(sent, coordinator.publicKey))
    t.match(sent, { id, cell_id: CELL, hazard: 'safe', expires_at: world.now + 60_000 })
    t.equal(await stateOf(commands, id), 'sent')
    for (const state of ['accepted', 'executing', 'succeeded'] as const) {
      await commands.acknowledge(CELL, ack(id, state))
      t.equal(await stateOf(commands, id), state)
    }
    await commands.close()
    t.strictSame(await audit(), ['command.create done', 'command.succeeded done'])
  })

  t.test('has a higher fence than every earlier one, even when the clock goes back', async t => {
    const { commands, world, restart } = await rig(t)
    await commands.create(ping, BY)
    world.now -= 1000
    await (await restart()).create(ping, BY)
    const [first, second] = world.sent
    t.ok(first && second && second.fence > first.fence)
  })

  t.test('that is unsafe is refused, and the error names the gate', async t => {
    const { commands, world, audit } = await rig(t)
    const wanted = { code: 'forbidden', message: /gate\.device-command-live/ }
    await t.rejects(commands.create({ ...ping, verb: 'fly' }, BY), wanted)
    t.strictSame(world.sent, [])
    t.strictSame(await audit(), ['command.create refused'])
  })

  for (const [title, params] of [
    ['half a character', { text: '\ud800' }],
    ['more than a packet holds', { text: 'x'.repeat(40_000) }],
  ] as const)
    t.test(`with ${title} in its parameters is refused`, async t => {
      const { commands, audit } = await rig(t)
      const wanted = { code: 'invalid_request', param: 'params' }
      await t.rejects(commands.create({ ...ping, params }, BY), wanted)
      t.strictSame(await audit(), [])
    })

  t.test('to a cell that has not announced its verbs is refused', async t => {
    const { commands } = await rig(t, { verbs: () => undefined })
    await t.rejects(commands.create(ping, BY), { code: 'cell_unavailable' })
  })

  t.test('is refused while a hundred are open', async t => {
    const { commands } = await rig(t)
    await Promise.all(Array.from({ length: 100 }, () => commands.create(ping, BY)))
    await t.rejects(commands.create(ping, BY), { code: 'rate_limited' })
  })

  t.test('of another device, or a stop, has room while one device has none', async t => {
    const { commands } = await rig(t)
    const arm = { ...ping, deviceId: ARM }
    await Promise.all(Array.from({ length: 100 }, () => commands.create(arm, BY)))
    await t.rejects(commands.create(arm, BY), { code: 'rate_limited', message: new RegExp(ARM) })
    t.match(await commands.create({ ...ping, deviceId: ROVER_ID }, BY), { state: 'sent' })
    t.match(await commands.create({ ...arm, verb: 'stop' }, BY), { state: 'sent' })
  })

  t.test('waits in its lane for an earlier one that acts; a stop does not', async t => {
    const { commands, world } = await rig(t)
    const arm = { ...ping, deviceId: ARM }
    world.here = false
    const created = []
    for (const verb of ['open', 'ping', 'stop'])
      created.push(await commands.create({ ...arm, verb }, BY))
    const other = await commands.create(ping, BY)
    world.here = true
    commands.sendOpen(CELL)
    t.strictSame(
      world.sent.map(({ verb }) => verb),
      ['stop', 'ping'],
      'before the disk has answered',
    )
    t.equal(world.sent[1]?.id, other.id)
    await commands.close()
    t.strictSame(
      world.sent.slice(2).map(({ id }) => id),
      created.slice(0, 2).map(({ id }) => id),
    )
  })

  t.test('that a cell of an older level could not verify is refused by level', async t => {
    const { commands, world, audit } = await rig(t)
    world.level = 1
    const createCommand = (more: object) => commands.create({ ...ping, ...more }, BY)
    await t.rejects(createCommand({ deviceId: ARM }), {
      code: 'conflict',
      message: /needs level 6/,
    })
    await t.rejects(createCommand({ verb: 'fly' }), { code: 'conflict', message: /needs level 3/ })
    const { mode, ttlSeconds, ...wanted } = ping
    await t.rejects(commands.plan({ ...wanted, verb: 'fly' }, BY), { message: /needs level 3/ })
    t.match(
      await commands.plan(wanted, BY),
      { hazard: 'safe', checks: [] },
      'what it can is planned',
    )
    await commands.create(ping, BY)
    t.equal(world.sent.length, 1)
    t.notOk(
      world.sent.some(sent => 'max_result_bytes' in sent),
      'newer fields are withheld',
    )
    await commands.close()
    t.strictSame(await audit(), ['command.create done'])
  })

  t.test('that waited for a cell which returned with an older version is not sent', async t => {
    const { commands, world } = await rig(t)
    world.here = false
    const newer = await commands.create({ ...ping, deviceId: ARM }, BY)
    const plain = await commands.create(ping, BY)
    Object.assign(world, { here: true, level: 1 })
    commands.sendOpen(CELL)
    t.match(await commands.get(newer.id), { state: 'rejected', reason: 'capability' })
    t.strictSame(
      world.sent.map(({ id }) => id),
      [plain.id],
    )
    const [sent] = world.sent
    t.ok(sent && isGenuineCommand(sent, coordinator.publicKey))
    t.notOk(sent && 'max_result_bytes' in sent)
  })

  t.test('waits for a disconnected cell', async t => {
    const { commands, world } = await rig(t)
    world.here = false
    const { id } = await commands.create(ping, BY)
    t.equal(await stateOf(commands, id), 'queued')
    world.here = true
    commands.sendOpen(CELL)
    t.equal(world.sent.length, 1)
    t.equal(await stateOf(commands, id), 'sent')
  })

  t.test('that waited across a change of the signing key is signed with the new one', async t => {
    const signer = { ...coordinator }
    const { commands, world } = await rig(t, { signer })
    world.here = false
    await commands.create(ping, BY)
    Object.assign(signer, other)
    world.here = true
    commands.sendOpen(CELL)
    const [sent] = world.sent
    t.ok(sent && sent.key_id === other.publicKey && isGenuineCommand(sent, other.publicKey))
  })

  t.test('that was not acknowledged is sent once more, with the same id', async t => {
    const { commands, world } = await rig(t)
    const { id } = await commands.create(ping, BY)
    for (let i = 0; i < 3; i++) commands.sendOpen(CELL)
    t.strictSame(
      world.sent.map(command => command.id),
      [id, id],
    )
  })

  t.test('that was acknowledged is not sent again', async t => {
    const { commands, world } = await rig(t)
    const { id } = await commands.create(ping, BY)
    await commands.acknowledge(CELL, ack(id, 'accepted'))
    commands.sendOpen(CELL)
    t.equal(world.sent.length, 1)
  })

  t.test('is never sent after it has expired', async t => {
    const { commands, world } = await rig(t)
    world.here = false
    await commands.create(ping, BY)
    world.here = true
    world.now += 60_000
    commands.sendOpen(CELL)
    t.strictSame(world.sent, [])
  })

  t.test('survives a restart of the coordinator, and is sent once more', async t => {
    const { commands, world, restart } = await rig(t)
    const { id } = await commands.create(ping, BY)
    await commands.close()
    const again = await restart()
    again.sendOpen(CELL)
    await again.close()
    t.equal(world.sent.length, 2)
    await again.acknowledge(CELL, ack(id, 'succeeded', cell, { result: { pong: true } }))
    await again.close()
    t.match(await (await restart()).get(id), { state: 'succeeded', result: { pong: true } })
  })

  for (const [title, state, before, isHere, end] of [
    ['that never left has expired when its life is over', 'queued', 59_999, false, 'expired'],
    ['without any word is unknown a little later', 'sent', 64_999, true, 'unknown'],
    [
      'that was accepted is unknown when its verb must have ended',
      'accepted',
      94_999,
      true,
      'unknown',
    ],
  ] as const)
    t.test(title, async t => {
      const { commands, world } = await rig(t)
      world.here = isHere
      const { id } = await commands.create(ping, BY)
      if (state === 'accepted') await commands.acknowledge(CELL, ack(id, state))
      world.now += before
      commands.sweep()
      t.equal(await stateOf(commands, id), state)
      world.now += 1
      commands.sweep()
      t.equal(await stateOf(commands, id), end)
    })

  t.test('that acts is recorded on disk as sent before it goes out', async t => {
    const onDisk: unknown[] = []
    const gone = Promise.withResolvers<void>()
    const { commands, restart } = await rig(t, {
      publish: async ({ id }) => {
        const { state, sends } = (await (await restart()).get(id)) ?? {}
        onDisk.push([state, sends])
        gone.resolve()
      },
    })
    await commands.create({ ...ping, verb: 'open' }, BY)
    await gone.promise
    t.strictSame(onDisk, [['sent', 1]])
  })

  t.test('that acts is not sent when the disk cannot record it', async t => {
    const { commands, world, failing } = await rig(t)
    world.here = false
    await commands.create({ ...ping, verb: 'open' }, BY)
    world.here = true
    failing.writes = true
    commands.sendOpen(CELL)
    await new Promise(setImmediate)
    t.strictSame(world.sent, [])
  })

  t.test('that was queued on disk at a start may have run, and is never not sent', async t => {
    const { commands, world, restart } = await rig(t)
    const { id } = await commands.create(ping, BY)
    world.now += 60_000
    const again = await restart()
    again.sweep()
    t.match(await again.get(id), { state: 'unknown', reason: 'no_answer' })
    await again.acknowledge(CELL, ack(id, 'succeeded'))
    t.equal(await stateOf(again, id), 'succeeded')
    await again.close()
  })

  t.test('that was reported as never sent becomes known when the cell reports it', async t => {
    const { commands, world } = await rig(t)
    world.here = false
    const { id } = await commands.create(ping, BY)
    world.now += 60_000
    commands.sweep()
    t.match(await commands.get(id), { state: 'expired', reason: 'not_sent' })
    await commands.acknowledge(CELL, ack(id, 'executing'))
    const known = await commands.get(id)
    t.equal(known?.state, 'executing')
    t.notOk(known && 'reason' in known)
  })

  t.test('of the same millisecond as others is sent in order after a restart', async t => {
    const { commands, world, restart } = await rig(t)
    world.here = false
    for (let i = 0; i < 20; i++) await commands.create(ping, BY)
    const again = await restart()
    world.here = true
    again.sendOpen(CELL)
    await again.close()
    const fences = world.sent.map(({ fence }) => fence)
    t.equal(fences.length, 20)
    t.strictSame(
      fences,
      fences.toSorted((a, b) => a - b),
    )
  })

  t.test('that was given up becomes known when the cell reports it after all', async t => {
    const { commands, world } = await rig(t)
    const { id } = await commands.create(ping, BY)
    world.now += 65_000
    commands.sweep()
    await commands.acknowledge(CELL, ack(id, 'succeeded'))
    t.equal(await stateOf(commands, id), 'succeeded')
  })
})

t.test('a late ack `unconfirmed` replaces the `unknown` of a silent cell', async t => {
  const { commands, restart, world } = await rig(t)
  const { id } = await commands.create({ ...ping, verb: 'stop', deviceId: ARM }, BY)
  await commands.acknowledge(CELL, ack(id, 'executing'))
  world.now += 95_000
  commands.sweep()
  t.match(await commands.get(id), { state: 'unknown', reason: 'no_answer' })
  await commands.close()
  const outcome: Pick<Ack, 'asked' | 'seen'> = {
    asked: { sent: [{ name: 'stop', answer: 'ok' }] },
    seen: { state: 'moving', at: 1, values: { speed_m_s: 1 } },
  }
  const again = await restart()
  await again.acknowledge(CELL, ack(id, 'unknown', cell, { reason: 'unconfirmed', ...outcome }))
  await again.acknowledge(CELL, ack(id, 'unknown', cell, { reason: 'interrupted' }))
  await again.close()
  const wanted = { state: 'unknown', reason: 'unconfirmed', ...outcome }
  t.match(await (await restart()).get(id), wanted)
})

t.test('a stop without an answer is found behind any number of newer commands', async t => {
  const store = await temporaryStore(t)
  await addCell(store.ledger, CELL, cell.publicKey)
  const now = 1_800_000_000_000
  const rowOf = (
    {
      verb,
      deviceId = ARM,
      hazard = 'safe',
    }: { verb: string; deviceId?: string; hazard?: VerbFacts['hazard'] },
    state: CommandState,
    at: number,
  ) => {
    const request = { ...ping, verb, deviceId }
    const id = systemRuntime.ids.create('cmd', at)
    const making = { id, hazard, fence: 1, approval: undefined, level: CAPABILITY, now: at }
    const signed = makeCommand(request, { ...making, signer: coordinator })
    const record = { ...newRecord(signed, 30, 'key:k'), state, updatedAt: at }
    return commandTable.write(toStoredCommand(record))
  }
  const insert = (rows: ReturnType<typeof rowOf>[]) =>
    store.ledger.sealed.write(trx => trx.insertInto('commands').values(rows).execute())
  // as many as are read at once, and one
  const later = Array.from({ length: 501 }, (_, at) => now - 9000 + at)
  await insert([rowOf({ verb: 'stop' }, 'sent', now - 20_000)])
  await insert([rowOf({ verb: 'land', deviceId: ROVER_ID }, 'expired', now - 20_000)])
  await insert(later.map(at => rowOf({ verb: 'open', hazard: 'caution' }, 'expired', at)))
  await insert(later.map(at => rowOf({ verb: 'look', hazard: 'read' }, 'succeeded', at)))
  const stops = new UnconfirmedStops({ listCells: () => [CELL], answerMs: 5000, now: () => now })
  const list = async () => {
    await stops.look(store.ledger)
    return [...stops.observe()].map(({ part }) => part).sort()
  }
  t.strictSame(await list(), [ARM, ROVER_ID].sort())
  await insert([rowOf({ verb: 'open', hazard: 'caution' }, 'succeeded', now - 100)])
  t.strictSame(await list(), [ROVER_ID], 'and ends with a later success that acts')
})

t.test('an ack', async t => {
  for (const [title, from, signer, more] of [
    ['with another key is dropped', CELL, other, {}],
    ['of another cell is dropped', newId('cell'), cell, {}],
    ['that names another cell is dropped', CELL, cell, { cell_id: newId('cell') }],
  ] as const)
    t.test(title, async t => {
      const { commands } = await rig(t)
      const { id } = await commands.create(ping, BY)
      await commands.acknowledge(from, ack(id, 'succeeded', signer, more))
      t.equal(await stateOf(commands, id), 'sent')
    })

  t.test('that was altered in transit is dropped', async t => {
    const { commands } = await rig(t)
    const { id } = await commands.create(ping, BY)
    await commands.acknowledge(CELL, { ...ack(id, 'failed'), state: 'succeeded' })
    await commands.acknowledge(CELL, { ...ack(id, 'succeeded'), extra: 1 })
    t.equal(await stateOf(commands, id), 'sent')
  })

  t.test('that reports progress is shown until the end, and does not change an end', async t => {
    const { commands } = await rig(t)
    const { id } = await commands.create(ping, BY)
    const progressOf = async () => (await commands.get(id))?.progress
    for (const percent of [10, 40]) {
      const progress = { percent, message: null }
      await commands.acknowledge(CELL, ack(id, 'executing', cell, { progress }))
      t.strictSame(await progressOf(), progress)
    }
    await commands.acknowledge(CELL, ack(id, 'succeeded'))
    const progress = { percent: 90, message: null }
    await commands.acknowledge(CELL, ack(id, 'executing', cell, { progress }))
    t.match(await commands.get(id), { state: 'succeeded', progress: undefined })
  })

  t.test('with a large result is shown with its command, but not in the list', async t => {
    const { commands, restart } = await rig(t)
    const result = 'x'.repeat(256 * 1024 - 2)
    const { id } = await commands.create(ping, BY)
    await commands.acknowledge(CELL, ack(id, 'succeeded', cell, { result }))
    await commands.close()
    const again = await restart()
    t.equal((await again.get(id))?.result, result)
    t.strictSame(
      (await again.list({ limit: 1 })).map(({ result }) => result),
      [undefined],
    )
  })

  t.test('of a cell without a key is dropped', async t => {
    const { commands } = await rig(t, { cellKey: async () => undefined })
    const { id } = await commands.create(ping, BY)
    await commands.acknowledge(CELL, ack(id, 'succeeded'))
    t.equal(await stateOf(commands, id), 'sent')
  })

  t.test('with invalid content is reported as an error of its sender', async t => {
    const { commands } = await rig(t)
    await t.rejects(commands.acknowledge(CELL, { command_id: 'x' }))
  })
})

for (const kind of ['writes', 'answers'] as const)
  t.test(`a command is sent in its turn after the store has failed (${kind})`, async t => {
    const { commands, world, failing } = await rig(t)
    world.here = false
    for (const verb of ['open', 'ping']) await commands.create({ ...ping, verb }, BY)
    world.here = true
    failing[kind] = true
    commands.sendOpen(CELL)
    for (let n = 0; n < 2; n++) {
      commands.sweep()
      await new Promise(setImmediate)
    }
    t.strictSame(world.sent, [], 'the second one waits for the first')
    failing[kind] = false
    commands.sweep()
    await commands.close()
    t.strictSame(
      world.sent.map(({ verb }) => verb),
      ['open', 'ping'],
    )
  })

t.test('a command whose sending cannot be recorded is given up at its deadline', async t => {
  const { commands, world, failing } = await rig(t)
  world.here = false
  const { id } = await commands.create({ ...ping, verb: 'open' }, BY)
  world.here = true
  failing.writes = true
  commands.sendOpen(CELL)
  await new Promise(setImmediate)
  world.now += 3600_000
  commands.sweep()
  failing.writes = false
  await commands.close()
  t.strictSame([world.sent, await stateOf(commands, id)], [[], 'unknown'])
})

t.test('a command is sent although the answer to its commit was lost', async t => {
  const { commands, world, failing, audit } = await rig(t)
  failing.answers = true
  await t.rejects(commands.create({ ...ping, verb: 'open' }, BY), { message: /answer was lost/ })
  failing.answers = false
  commands.sweep()
  await commands.close()
  t.equal(world.sent.length, 1)
  t.strictSame(await audit(), ['command.create done'])
})

t.test('a command that its coordinator has lost track of is found in the store', async t => {
  const { commands, world, failing } = await rig(t)
  failing.answers = true
  await t.rejects(commands.create(ping, BY), { message: /answer was lost/ })
  await commands.close()
  t.strictSame(world.sent, [], 'nobody could tell whether it was stored')
  failing.answers = false
  for (let n = 0; n < 2; n++) await commands.refresh()
  t.equal(world.sent.length, 1)
})

t.test('a flood of changes is written in batches, so that others get the lane between', async t => {
  const sizes: number[] = []
  const changed = new WriteBehind(
    async changes => void sizes.push(changes.length),
    error => t.fail(error.message),
    systemRuntime,
  )
  for (let n = 0; n < 150; n++)
    changed.add({ record: { id: `cmd_${n}`, state: 'succeeded' } as CommandRecord, follows: [] })
  await changed.flushAll()
  t.strictSame(sizes, [64, 64, 22])
})
