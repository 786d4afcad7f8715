import t, { type Test } from 'tap'
import * as z from 'zod'
import { loadShippedGates } from '../../../../coordinator/access/gates/definition.ts'
import { GateKeeper } from '../../../../coordinator/access/gates/gates.ts'
import { Keys } from '../../../../coordinator/access/keys/keys.ts'
import { createPerson } from '../../../../coordinator/access/people/people.ts'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import type { CommandRecord } from '../../../../coordinator/fleet/control/command.ts'
import { createCommands } from '../../../../coordinator/fleet/control/commands.ts'
import { CommitChecks } from '../../../../coordinator/fleet/control/commit-checks.ts'
import { Retries } from '../../../../coordinator/fleet/control/retries.ts'
import type { GatePerson } from '../../../../coordinator/kernel/declaration/caller.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { CommandExecutor } from '../../../../daemon/commands/executor.ts'
import { CommandJournal } from '../../../../daemon/commands/journal.ts'
import { toVerbFacts, type Verb } from '../../../../daemon/commands/verb.ts'
import { createDeviceId } from '../../../../devices/device-id.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import { silent } from '../../../support/cell.ts'
import { ARM } from '../../../support/device-ids.ts'
import { devicesWith } from '../../../support/devices-with.ts'
import { soleReplica } from '../../../support/replicas.ts'
import { BY, temporaryStore } from '../../kernel/store/temporary.ts'
import { addCell } from './cell-row.ts'

/* The way of an unsafe command: planned by the cell, approved by people, verified by the cell. */

const CELL = newId('cell')
const NOW = Date.now()

/** A coordinator with gates, and the executor of one cell at its end; what moved is noted. */
const scene = async (t: Test) => {
  const now = () => NOW
  const store = await temporaryStore(t, undefined, { now })
  const [signer, cell] = [createSigner(generatePrivateKey()), createSigner(generatePrivateKey())]
  await addCell(store.ledger, CELL, cell.publicKey)
  const keys = new Keys({ store, logger: silent, now })
  t.teardown(() => keys.close())
  await createTenant(store.ledger, { id: 'one', name: 'one' }, BY)
  const enter = async (id: string, role: string): Promise<GatePerson> => {
    await createPerson(store.ledger, { id, tenantId: 'one', name: id }, BY)
    const spec = { tenantId: 'one', personId: id, tier: 'enterprise', roles: [role] }
    const { key } = await keys.create(spec as never, BY)
    return { personId: id, keyId: key.id, kind: key.kind, roles: key.roles }
  }
  const definitions = loadShippedGates()
  const gates = new GateKeeper({
    logger: silent,
    runtime: systemRuntime,
    store,
    definitions,
    signer,
    addEvents: async () => {},
    now,
  })

  const world = { maxSpeed: 1, battery: 80 }
  const moved: unknown[] = []
  const move: Verb = {
    verb: 'move',
    description: '',
    hazard: 'unsafe',
    timeout_seconds: 30,
    params: z.strictObject({ to: z.number() }),
    plan: ({ to }) => ({
      operations: [{ go: to as number }],
      bounds: { max_speed_mps: world.maxSpeed },
    }),
    check: async () => [
      { name: 'battery', observed: world.battery, limit: 20, holds: world.battery >= 20 },
    ],
    run: async ({ operations }) => {
      moved.push(...operations)
      return { moved: true }
    },
  }
  const lines: string[] = []
  const file = {
    read: async () => lines.join(''),
    append: async (text: string) => void lines.push(text),
    replace: async (text: string) => void lines.splice(0, lines.length, text),
    close: async () => {},
  }
  const executor: CommandExecutor = new CommandExecutor({
    cellId: CELL,
    signer: cell,
    listTrustedKeys: () => [signer.publicKey],
    verbs: [],
    devices: devicesWith(
      () => [move],
      id => id === ARM,
    ),
    journal: await CommandJournal.open(file, now),
    clock: { bounds: () => ({ earliest: NOW, latest: NOW }) },
    now,
    nowMs: () => 0,
    acknowledge: ack => void commands.acknowledge(CELL, ack),
    report: () => {},
    signal: new AbortController().signal,
    logger: silent,
  })
  /** True while the disk refuses the writes of the commands. */
  const disk = { isFull: false }
  const write: Store['ledger']['sealed']['write'] = async (work, options) => {
    if (disk.isFull) throw new ShoalError('store_unavailable', 'the disk is full')
    return store.ledger.sealed.write(work, options)
  }
  const commands = await createCommands({
    ledger: { ...store.ledger, sealed: { write } },
    replicas: soleReplica(),
    signer,
    verbs: () => [toVerbFacts(move)],
    capability: () => CAPABILITY,
    isHere: () => true,
    cellKey: async () => cell.publicKey,
    publish: async command => void executor.receive(JSON.parse(JSON.stringify(command))),
    now,
    runtime: systemRuntime,
    logger: silent,
  })
  t.teardown(() => commands.close())

  const toActor = async (person: Promise<GatePerson>) => ({
    person: await person,
    tenantId: 'one',
    by: BY,
  })
  const [bea, ada] = [
    await toActor(enter('bea', 'builder')),
    await toActor(enter('ada', 'operator_admin')),
  ]
  const request = { cellId: CELL, deviceId: ARM, verb: 'move', params: { to: 3 }, ttlSeconds: 60 }
  /** What people have said yes to. */
  const createApproved = async () => {
    const { plan, gate = '' } = await commands.plan(request, BY)
    const { id } = await gates.request({ gateId: gate, summary: 'move the arm', plan }, bea)
    await gates.approve(id, ada)
    return { id, plan }
  }
  type Approved = Awaited<ReturnType<typeof createApproved>>
  const live = async ({ id, plan }: Approved, fail = false): Promise<CommandRecord> => {
    const made: CommandRecord[] = []
    await gates.consume(id, bea, {
      plan,
      runInTransaction: async (trx, approval) => {
        made.push(await commands.createWithin(trx, request, BY, { plan, approval }))
        if (fail) throw new Error('the rest of the work fails')
      },
    })
    return made[0] as CommandRecord
  }
  /** The command when nothing is under way any more; sweeps as a coordinator does. */
  const waitForEnd = async ({ id }: CommandRecord) => {
    for (;;) {
      commands.sweep()
      const record = await commands.get(id)
      if (record && !['queued', 'sent', 'accepted', 'executing'].includes(record.state))
        return record
      await new Promise(setImmediate)
    }
  }
  return { commands, gates, world, moved, disk, createApproved, live, waitForEnd }
}

t.test('an approved command is carried out exactly once', async t => {
  const { createApproved, live, waitForEnd, moved, world, commands } = await scene(t)
  const yes = await createApproved()
  t.match(yes.plan, { device_id: ARM, operations: [{ go: 3 }], bounds: { max_speed_mps: 1 } })
  world.battery = 60
  t.match(await waitForEnd(await live(yes)), { state: 'succeeded', result: { moved: true } })
  await t.rejects(live(yes), { code: 'forbidden' })
  t.strictSame(moved, [{ go: 3 }])
  const all = await commands.list({ limit: 10 })
  t.equal(all.filter(({ mode }) => mode === 'live').length, 1)
})

t.test('a command of a rolled-back transaction does not exist and occupies nothing', async t => {
  const { createApproved, live, waitForEnd, moved, commands, gates } = await scene(t)
  const yes = await createApproved()
  await t.rejects(live(yes, true), { message: /rest of the work/ })
  await commands.close()
  const all = await commands.list({ limit: 10 })
  t.strictSame(
    all.map(({ mode }) => mode),
    ['dry'],
  )
  t.strictSame(moved, [])
  t.match(await gates.get(yes.id, 'all'), { state: 'approved' }, 'it was not used')
  t.match(await waitForEnd(await live(yes)), { state: 'succeeded' })
})

t.test('a committed command survives a disk that fails right after, and runs once', async t => {
  const { createApproved, live, waitForEnd, moved, disk, commands } = await scene(t)
  const yes = await createApproved()
  disk.isFull = true
  const made = await live(yes)
  commands.sweep()
  commands.sendOpen(CELL)
  t.match(await commands.get(made.id), { state: 'queued' }, 'whether it was committed is unknown')
  disk.isFull = false
  t.match(await waitForEnd(made), { state: 'succeeded', sends: 1 })
  commands.sendOpen(CELL)
  await commands.close()
  t.strictSame(moved, [{ go: 3 }])
})

t.test('a coordinator stops although it cannot tell whether a command was committed', async t => {
  const { createApproved, live, moved, disk, commands } = await scene(t)
  const yes = await createApproved()
  disk.isFull = true
  const made = await live(yes)
  await commands.close()
  t.match(await commands.get(made.id), { state: 'queued' }, 'the next start sends it')
  t.strictSame(moved, [])
})

t.test('a ledger that freezes right after the approval does not block the lane', async t => {
  const { ledger } = await temporaryStore(t)
  const checks = new CommitChecks({ ledger, retries: new Retries(), logger: silent })
  ledger.freeze('row 3 was changed')
  t.notOk(await checks.isCommitted('cmd_1'), 'the check ends: nothing is written until a restart')
})

t.test('the cell refuses a plan that has changed since its approval', async t => {
  const { createApproved, live, waitForEnd, moved, world } = await scene(t)
  const yes = await createApproved()
  world.maxSpeed = 2
  t.match(await waitForEnd(await live(yes)), { state: 'rejected', reason: 'approval_other_plan' })
  t.strictSame(moved, [])
})

t.test('the cell refuses a reading below its limit and reports the value', async t => {
  const { createApproved, live, waitForEnd, moved, world } = await scene(t)
  const yes = await createApproved()
  world.battery = 12
  const refused = await waitForEnd(await live(yes))
  t.match(refused, { state: 'rejected', reason: 'precondition_failed', message: /battery is 12/ })
  t.strictSame(moved, [])
})

t.test('a plan that the cell refuses is an error that names the parameter', async t => {
  const { commands } = await scene(t)
  const request = { cellId: CELL, deviceId: ARM, verb: 'move', params: {} }
  await t.rejects(commands.plan(request, BY), { code: 'invalid_request', param: 'params' })
  const ghost = { ...request, deviceId: createDeviceId('ghost'), params: { to: 1 } }
  await t.rejects(commands.plan(ghost, BY), { code: 'invalid_request', param: 'device_id' })
})
