import t, { type Test } from 'tap'
import * as z from 'zod'
import type { Verb } from '../../../daemon/commands/verb.ts'
import { createDeviceId } from '../../../devices/device-id.ts'
import type { Ack, Command } from '../../../shared/wire/command.ts'
import { DEV_A, DEV_B } from '../../support/device-ids.ts'
import { command, rig } from '../commands/rig.ts'
import { cellWith, device, engaged } from './scene.ts'

/** Lanes of a cell that may be busy at the same time. */
const LANES = 64

const target = (deviceId: string, verb: string, hazard: Command['hazard']) =>
  command({ device_id: deviceId, verb, hazard })

/** A cell whose devices move until they are aborted, with its e-stop. */
const movingCell = async (t: Test, ids: string[]) => {
  const devices = ids.map(id => device(id, 'hall'))
  const at = await cellWith(devices)
  const aborted: string[] = []
  const verb = (name: string, parts: Pick<Verb, 'hazard' | 'run'> & Partial<Verb>): Verb => ({
    verb: name,
    description: '',
    timeout_seconds: 30,
    params: z.strictObject({}),
    plan: () => ({ operations: [name], bounds: {} }),
    ...parts,
  })
  const checks = { run: async (): Promise<void> => {} }
  const moving = verb('move', {
    hazard: 'caution',
    check: async () => {
      await checks.run()
      return []
    },
    run: ({ device_id = '' }, { signal }) =>
      new Promise((_resolve, reject) => {
        signal.addEventListener('abort', () => {
          aborted.push(device_id)
          reject(new Error('stopped'))
        })
      }),
  })
  const verbs = [
    moving,
    verb('look', { hazard: 'read', run: async () => ({ seen: true }) }),
    verb('hold', { hazard: 'safe', urgent: true, run: async () => ({ held: true }) }),
    verb('lights', { hazard: 'safe', run: async () => ({ on: true }) }),
  ]
  const commands = await rig(t, {
    devices: {
      findName: id => (ids.includes(id) ? `name of ${id}` : undefined),
      findVerb: (_id, name) => verbs.find(({ verb }) => verb === name),
    },
    findStop: id => at.estop.findStop(id),
  })
  at.estop.onEngage(() => commands.executor.endStopped())
  const endOf = ({ id }: Command): Ack | undefined =>
    commands.acks.findLast(ack => ack.command_id === id)
  return { ...at, ...commands, devices, aborted, checks, endOf }
}

t.test('an e-stop ends the running verbs of every busy lane, before the disk has it', async t => {
  const ids = Array.from({ length: LANES }, (_, at) => createDeviceId(String(at)))
  const { executor, estop, stopped, aborted, disk, endOf } = await movingCell(t, ids)
  const moves = ids.map(id => target(id, 'move', 'caution'))
  const waiting = ids.map(id => target(id, 'lights', 'safe'))
  await Promise.all([...moves, ...waiting].map(one => executor.receive(one)))
  const { promise, resolve } = Promise.withResolvers<void>()
  disk.wait = promise
  const latched = estop.engage({ reason: 'smoke', by: 'local:ann' })
  t.strictSame(stopped, ids, 'every device is stopped in the call')
  t.strictSame(aborted, ids, 'and every verb ended')
  resolve()
  await latched
  await executor.waitUntilIdle()
  t.ok(moves.every(one => endOf(one)?.state === 'unknown' && endOf(one)?.reason === 'estopped'))
  t.ok(waiting.every(one => endOf(one)?.state === 'rejected' && endOf(one)?.reason === 'estopped'))
})

t.test('a held device reads, stops and plans, and does nothing else', async t => {
  const { obey, estop } = await movingCell(t, [DEV_A, DEV_B])
  const stop = engaged({ scope: 'device', target: DEV_A })
  await estop.apply({ version: 1, engaged: [stop], released: [] })
  t.match(await obey(target(DEV_A, 'look', 'read')), { state: 'succeeded' })
  t.match(await obey(target(DEV_A, 'hold', 'safe')), { state: 'succeeded' })
  t.match(await obey(target(DEV_B, 'lights', 'safe')), { state: 'succeeded' })
  const dry = command({ device_id: DEV_A, verb: 'move', hazard: 'caution', mode: 'dry' })
  t.match(await obey(dry), { state: 'succeeded' })
  const refused = await obey(target(DEV_A, 'lights', 'safe'))
  t.match(refused, { state: 'rejected', reason: 'estopped' })
  t.match(refused?.message, `e-stop ${stop.estop_id} holds name of ${DEV_A} (${DEV_A}): smoke`)
})

t.test('an e-stop during the checks of a command keeps it from running', async t => {
  const { obey, estop, checks } = await movingCell(t, [DEV_A])
  checks.run = async () => {
    await estop.engage({ reason: 'smoke', by: 'local:ann' })
  }
  t.match(await obey(target(DEV_A, 'move', 'caution')), { state: 'failed', reason: 'estopped' })
})

t.test('a stop of a site ends the verb of a device that was withdrawn while it ran', async t => {
  const { executor, estop, devices, endOf } = await movingCell(t, [DEV_A, DEV_B])
  const move = target(DEV_A, 'move', 'caution')
  await executor.receive(move)
  devices.shift()
  const stop = engaged({ scope: 'site', target: 'hall' })
  await estop.apply({ version: 1, engaged: [stop], released: [] })
  await executor.waitUntilIdle()
  t.match(endOf(move), { state: 'unknown', reason: 'estopped' })
})

t.test('a stop holds a device that was withdrawn when it comes back', async t => {
  const { obey, estop, devices, stopped } = await movingCell(t, [DEV_A, DEV_B])
  const [gone] = devices.splice(0, 1)
  for (const held of [DEV_A, null]) {
    const scope = held === null ? ('all' as const) : ('device' as const)
    const stop = engaged({ scope, target: held })
    await estop.apply({ version: 1, engaged: [stop], released: [] })
    await estop.retry()
    t.notOk(stopped.includes(DEV_A), 'nobody can stop it while it is away')
    if (gone !== undefined) devices.push(gone)
    t.match(await obey(target(DEV_A, 'move', 'caution')), { reason: 'estopped' })
    await estop.retry()
    t.ok(stopped.includes(DEV_A), 'it is stopped when it comes back')
    devices.pop()
    stopped.length = 0
    await estop.retry()
  }
})
