import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import * as z from 'zod'
import { CommandJournal } from '../../../daemon/commands/journal.ts'
import { openJournalFile } from '../../../daemon/commands/journal-file.ts'
import type { Verb } from '../../../daemon/commands/verb.ts'
import { newId } from '../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../shared/signing.ts'
import {
  type Ack,
  type Command,
  MAX_WAITING_PER_LANE,
  signCommand,
} from '../../../shared/wire/command.ts'
import type { Precondition } from '../../../shared/wire/plan-part.ts'
import { approvalFor, approvePlan } from '../../support/approval-for.ts'
import { ARM, GHOST, IDLE, ROVER_ID } from '../../support/device-ids.ts'
import { devicesWith } from '../../support/devices-with.ts'
import { CELL, cell, command, coordinatorSigner, folderOf, NOW, rig } from './rig.ts'

/** A cell with devices: `move` hangs until it is let go, `stop` is urgent, `look` is harmless. */
const devices = async (t: Test, given: Partial<Parameters<typeof rig>[1]> = {}) => {
  const moving: string[] = []
  const stopped: string[] = []
  const letGo = new Map<string, () => void>()
  const world = { reach: 1, checks: [] as Precondition[], path: join(folderOf(t), 'journal') }
  const verb = (name: string, parts: Pick<Verb, 'hazard' | 'run'> & Partial<Verb>): Verb => ({
    verb: name,
    description: '',
    timeout_seconds: 30,
    params: z.strictObject({ to: z.number().optional() }),
    plan: ({ to = 0 }) => ({ operations: [['go', to as number]], bounds: { reach: world.reach } }),
    ...parts,
  })
  const verbs = [
    verb('move', {
      hazard: 'unsafe',
      hazardOf: ({ to = 1 }) => (to === 0 ? 'safe' : 'unsafe'),
      check: async () => world.checks,
      run: ({ device_id = '' }) => {
        moving.push(device_id)
        return new Promise(resolve => letGo.set(device_id, () => resolve(null)))
      },
    }),
    verb('look', { hazard: 'read', run: async () => ({ seen: true }) }),
    verb('stop', {
      hazard: 'safe',
      urgent: true,
      run: async ({ device_id = '' }) => {
        stopped.push(device_id)
        return { stopped: true }
      },
    }),
  ]
  const file = openJournalFile(world.path)
  const hosted = devicesWith(
    () => verbs,
    id => id !== GHOST,
  )
  const at = await rig(t, { file, ...given, devices: hosted })
  const lastOf = ({ id }: Command): Ack | undefined =>
    at.acks.findLast(ack => ack.command_id === id)
  const waitFor = async (isRight: () => boolean): Promise<void> => {
    while (!isRight()) await new Promise(setImmediate)
  }
  const ends = (one: Command) => waitFor(() => lastOf(one)?.state === 'succeeded')
  return { ...at, moving, stopped, letGo, world, lastOf, waitFor, ends }
}

const target = (device_id: string, verb: string, hazard: Command['hazard']) => ({
  device_id,
  verb,
  hazard,
})
const look = (device: string) => command(target(device, 'look', 'read'))
const stop = (device: string) => command(target(device, 'stop', 'safe'))

/** The plan of a cell for `move`. */
const partOf = (device_id: string, to = 1) => ({
  cell_id: CELL,
  device_id,
  verb: 'move',
  hazard: 'unsafe' as const,
  operations: [['go', to]],
  bounds: { reach: 1 },
})
const UNTIL = { signer: coordinatorSigner, expiresAt: NOW + 60_000 }

const move = (device: string, to = 1, changes: Partial<Command> = {}) => {
  const approval = approvalFor(partOf(device, to), UNTIL)
  return command({ ...target(device, 'move', 'unsafe'), params: { to }, approval, ...changes })
}

t.test('a command of one device does not wait for another device', async t => {
  const { executor, moving, ends, waitFor, letGo } = await devices(t)
  const [hanging, waits, seen] = [move(ARM), look(ARM), look(ROVER_ID)]
  for (const one of [hanging, waits, seen]) await executor.receive(one)
  await ends(seen)
  await waitFor(() => letGo.has(ARM))
  t.strictSame(moving, [ARM])
  letGo.get(ARM)?.()
  await ends(waits)
  await executor.waitUntilIdle()
})

t.test('a stop bypasses every queue and ends all commands of its device', async t => {
  const { executor, lastOf, ends, waitFor, letGo, moving } = await devices(t)
  const [running, waits, other] = [move(ARM), move(ARM), move(ROVER_ID)]
  for (const one of [running, waits, other]) await executor.receive(one)
  await waitFor(() => letGo.size === 2)
  const stops = [stop(ARM), stop(IDLE)]
  for (const one of stops) await executor.receive(one)
  for (const one of stops) await ends(one)
  await waitFor(() => lastOf(waits)?.state === 'failed' && lastOf(running)?.state === 'unknown')
  t.match(lastOf(running), { reason: 'overtaken' })
  t.match(lastOf(waits), { reason: 'overtaken', message: /before it began/ })
  t.match(lastOf(other), { state: 'executing' }, 'another device goes on')
  letGo.get(ROVER_ID)?.()
  await executor.waitUntilIdle()
  t.strictSame(moving, [ARM, ROVER_ID])
})

t.test('a stop is executed when the journal cannot be written', async t => {
  const failWrite = async () => Promise.reject(new Error('no space left'))
  const { obey, acks } = await devices(t, {
    file: {
      read: async () => undefined,
      append: failWrite,
      replace: async text => (text.includes('cmd_') ? failWrite() : undefined),
      close: async () => {},
    },
  })
  t.match(await obey(stop(ARM)), { state: 'succeeded' })
  t.equal(acks.length, 1)
})

t.test('a stop does not wait for journal writes of the command that it ends', async t => {
  const disk = Promise.withResolvers<void>()
  const { executor, lastOf, waitFor, stopped, moving } = await devices(t, {
    file: {
      read: async () => undefined,
      append: () => disk.promise,
      replace: async text => (text.includes('cmd_') ? disk.promise : undefined),
      close: async () => {},
    },
  })
  const begins = move(ARM)
  const admitted = executor.receive(begins)
  await new Promise(setImmediate)
  void executor.receive(stop(ARM))
  await waitFor(() => stopped.length === 1)
  disk.resolve()
  await admitted
  await executor.waitUntilIdle()
  t.match(lastOf(begins), { state: 'failed', reason: 'overtaken' })
  t.strictSame(moving, [], 'the device did not move after its stop')
})

t.test('fences are counted per device, also after a restart', async t => {
  const early = [look(ARM), look(ROVER_ID)] as const
  const late = look(ARM)
  const { obey, stop: end, world } = await devices(t)
  t.match(await obey(late), { state: 'succeeded' })
  t.match(await obey(early[0]), { reason: 'stale_fence' }, 'of the same device')
  end.abort()
  const again = await devices(t, { file: openJournalFile(world.path) })
  t.match(await again.obey(early[0]), { reason: 'stale_fence' })
  t.match(await again.obey(early[1]), { state: 'succeeded' }, 'of another device')
})

t.test('a device with a full queue takes no room from another', async t => {
  const { executor, acks, ends, letGo, waitFor } = await devices(t)
  await executor.receive(move(ARM))
  await waitFor(() => letGo.has(ARM))
  const flood = Array.from({ length: MAX_WAITING_PER_LANE + 1 }, () => look(ARM))
  for (const one of flood) await executor.receive(one)
  const busy = acks.filter(({ reason }) => reason === 'busy').map(ack => ack.command_id)
  t.strictSame(busy, [flood.at(-1)?.id])
  const seen = look(ROVER_ID)
  await executor.receive(seen)
  await ends(seen)
  letGo.get(ARM)?.()
  await executor.waitUntilIdle()
})

t.test('an unknown or missing device is refused', async t => {
  const { obey } = await devices(t)
  const reasons: unknown[] = []
  for (const changes of [
    target(GHOST, 'look', 'read'),
    { verb: 'look', hazard: 'read' as const },
    target(ARM, 'do-safe', 'safe'),
    target(GHOST, 'do-safe', 'safe'),
  ])
    reasons.push((await obey(command(changes)))?.reason)
  t.strictSame(reasons, ['unknown_device', 'unknown_verb', 'unknown_verb', 'no_device'])
})

t.test('a dry run returns the plan at once, even when its device is busy', async t => {
  const { executor, letGo, waitFor, lastOf, ends, world } = await devices(t)
  await executor.receive(move(ARM))
  await waitFor(() => letGo.has(ARM))
  world.checks = [{ name: 'battery', observed: 12, limit: 20, holds: false }]
  const dry = command({ ...target(ARM, 'move', 'unsafe'), params: { to: 0 }, mode: 'dry' })
  await executor.receive(dry)
  await ends(dry)
  const part = { device_id: ARM, hazard: 'safe', operations: [['go', 0]], bounds: { reach: 1 } }
  t.match(lastOf(dry)?.result, { part, checks: world.checks })
  letGo.get(ARM)?.()
  await executor.waitUntilIdle()
})

t.test('an unsafe command needs an approval, and a milder one does not', async t => {
  const { executor, obey, letGo, waitFor } = await devices(t)
  const signUnapproved = (to: number, hazard: Command['hazard']) => {
    const { approval, signature, key_id, ...body } = move(ARM, to, { hazard })
    return signCommand(body, coordinatorSigner)
  }
  t.match(await obey(signUnapproved(1, 'unsafe')), { reason: 'approval_missing' })
  t.match(await obey(signUnapproved(1, 'safe')), { reason: 'hazard_mismatch' })
  await executor.receive(signUnapproved(0, 'safe'))
  await waitFor(() => letGo.has(ARM))
  letGo.get(ARM)?.()
  await executor.waitUntilIdle()
})

t.test('the cell verifies an approval against its own new plan', async t => {
  const createApproval = (changes: object, given: object = {}) =>
    approvalFor({ ...partOf(ARM), ...changes }, { ...UNTIL, ...given })
  const elsewhere = newId('cell')
  const { plan } = createApproval({})
  const own = (plan.parts as object[])[0]
  const swarm = approvePlan(
    { ...plan, parts: [{ cell_id: elsewhere, part_hash: 'a'.repeat(64) }, own as never] },
    UNTIL,
  )
  const stranger = createSigner(generatePrivateKey())
  const forged = { ...createApproval({}).approval, signature: 'A'.repeat(86) }
  const cases = {
    'one cell': [createApproval({}), undefined],
    'a list of cells with this one': [swarm, undefined],
    'an end that has come': [createApproval({}, { expiresAt: NOW }), 'approval_expired'],
    'another cell': [createApproval({ cell_id: elsewhere }), 'approval_other_cell'],
    'another device': [createApproval({ device_id: ROVER_ID }), 'approval_other_plan'],
    'other operations': [createApproval({ operations: [['go', 2]] }), 'approval_other_plan'],
    'other bounds': [createApproval({ bounds: { reach: 2 } }), 'approval_other_plan'],
    'another gate': [createApproval({}, { gate_id: 'gate.repair-run' }), 'approval_other_gate'],
    'a changed signature': [{ plan, approval: forged }, 'approval_not_genuine'],
    'another coordinator': [createApproval({}, { signer: stranger }), 'approval_not_genuine'],
    'its requester': [createApproval({}, { approver_ids: ['bea'] }), 'approval_not_counted'],
  } as const
  const found: [string, string | undefined][] = []
  for (const [what, [approval]] of Object.entries(cases)) {
    const { executor, letGo, acks } = await devices(t)
    await executor.receive(move(ARM, 1, { approval }))
    while (!letGo.has(ARM) && acks.at(-1)?.state !== 'rejected') await new Promise(setImmediate)
    letGo.get(ARM)?.()
    await executor.waitUntilIdle()
    found.push([what, acks.at(-1)?.reason])
  }
  t.strictSame(
    found,
    Object.entries(cases).map(([what, [, reason]]) => [what, reason]),
  )
})

t.test('an approval is used once on a cell, also by another command after a restart', async t => {
  const { executor, letGo, waitFor, obey, stop: end, world } = await devices(t)
  const first = move(ARM)
  await executor.receive(first)
  await waitFor(() => letGo.has(ARM))
  letGo.get(ARM)?.()
  await executor.waitUntilIdle()
  const again = () => move(ARM, 1, { approval: first.approval as never })
  t.match(await obey(again()), { reason: 'approval_used' })
  end.abort()
  const kept = readFileSync(world.path, 'utf8')
  t.match(kept, first.approval?.approval.request_id ?? '?')
  const reborn = await devices(t, { file: openJournalFile(world.path) })
  t.match(await reborn.obey(again()), { reason: 'approval_used' })
})

t.test('a changed reading does not void an approval; one below its limit stops it', async t => {
  const { executor, obey, letGo, waitFor, world, moving } = await devices(t)
  world.checks = [{ name: 'battery', observed: 80, limit: 20, holds: true }]
  await executor.receive(move(ARM))
  await waitFor(() => letGo.has(ARM))
  letGo.get(ARM)?.()
  await executor.waitUntilIdle()
  world.checks = [{ name: 'battery', observed: 12, limit: 20, holds: false }]
  const refused = await obey(move(ARM))
  t.match(refused, { state: 'rejected', reason: 'precondition_failed', message: /battery is 12/ })
  world.checks = []
  world.reach = 2
  t.match(await obey(move(ARM)), { reason: 'approval_other_plan' }, 'other bounds by now')
  t.strictSame(moving, [ARM])
})

t.test('progress is reported at most once a second, and never after the end', async t => {
  const clock = { nowMs: 0 }
  let late = (): void => {}
  const { obey, acks } = await rig(t, {
    clock,
    run: async (_part, { report }) => {
      for (const [ms, percent] of [
        [0, 10],
        [500, 20],
        [1000, 130],
      ] as const) {
        clock.nowMs = ms
        report({ percent })
      }
      late = () => report({ percent: 99 })
      return null
    },
  })
  await obey(command())
  clock.nowMs = 9000
  late()
  const said = acks.map(({ state, progress }) => [state, progress?.percent])
  t.strictSame(said, [
    ['executing', undefined],
    ['executing', 10],
    ['executing', 100],
    ['succeeded', undefined],
  ])
})

t.test('the journal bounds large results, and drops none that is open', async t => {
  const file = openJournalFile(join(folderOf(t), 'commands.journal'))
  const journal = await CommandJournal.open(file, () => NOW)
  const open = look(ARM)
  const ackOf = ({ id }: Command, state: Ack['state'], result?: string) => ({
    command_id: id,
    cell_id: CELL,
    state,
    at: NOW,
    key_id: cell.publicKey,
    signature: open.signature,
    ...(result === undefined ? {} : { result }),
  })
  const { id, fence } = open
  await journal.write({ id, fence, at: NOW, command: open, ack: ackOf(open, 'executing') })
  for (let i = 0; i < 150; i++) {
    const done = look(ROVER_ID)
    const ack = ackOf(done, 'succeeded', 'x'.repeat(256 * 1024 - 2))
    await journal.write({ id: done.id, fence: done.fence, device_id: ROVER_ID, at: NOW, ack })
  }
  const bytes = Buffer.byteLength((await file.read()) ?? '')
  t.ok(bytes < 33 * 1024 * 1024, `${bytes} bytes`)
  t.ok(journal.find(id), 'what has not ended is kept')
  t.ok(journal.listEntries().length < 150)
  await journal.close()
})
