/**
 * Measures commands to many cells: from the wish, and from handing it to the broker, to the cell's
 * signed last word. The coordinator's control plane is in this process with its ledger on the disk,
 * the cells with their real uplinks and executors are in another.
 *
 *   npm run bench -- commands [--cells 1000] [--seconds 15] [--rates 100,460] [--journal memory]
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { pino } from 'pino'
import { digestOf, randomSecret } from '../coordinator/access/keys/secret.ts'
import { createEmbeddedBus } from '../coordinator/fleet/broker/broker.ts'
import { createInbox } from '../coordinator/fleet/broker/inbox.ts'
import { Fleet } from '../coordinator/fleet/cells/fleet.ts'
import { createControl } from '../coordinator/fleet/control/control.ts'
import { cellTable } from '../coordinator/fleet/enrolment/cell.table.ts'
import { Cells } from '../coordinator/fleet/enrolment/cells.ts'
import { newCell } from '../coordinator/fleet/enrolment/enrolment.ts'
import { createToken } from '../coordinator/fleet/enrolment/join-tokens.ts'
import { createSoleReplica } from '../coordinator/kernel/replicas/sole-replica.ts'
import { openStore, type Store } from '../coordinator/kernel/store/store.ts'
import { acceptUpgrades } from '../coordinator/surfaces/http/upgrades.ts'
import { newId } from '../shared/ids.ts'
import { systemRuntime } from '../shared/runtime.ts'
import { createSigner, generatePrivateKey } from '../shared/signing.ts'
import { Ack, FINAL_STATES } from '../shared/wire/command.ts'
import type { BenchCellsOptions } from './commands/cells.ts'
import { cpuMs, percentile, type ReportRow, report, round } from './measure.ts'

const logger = pino({ level: 'silent' })
const pause = (milliseconds: number): Promise<void> =>
  new Promise(resolve => setTimeout(resolve, milliseconds))

const enrol = async (store: Store, count: number): Promise<BenchCellsOptions['cells']> => {
  const { token } = await createToken(store.ledger, { uses: 1, ttlMinutes: 60 }, { actor: 'bench' })
  const cells: BenchCellsOptions['cells'] = []
  await store.ledger.sealed.write(async trx => {
    for (let i = 0; i < count; i++) {
      const privateKey = generatePrivateKey()
      const credential = randomSecret()
      const request = {
        token: '',
        name: `cell-${i}`,
        public_key: createSigner(privateKey).publicKey,
      }
      const cell = newCell(request, {
        id: newId('cell'),
        tokenId: token.id,
        digest: digestOf(credential).toString('hex'),
        now: Date.now(),
      })
      await trx.insertInto('cells').values(cellTable.write(cell)).execute()
      cells.push({ id: cell.id, credential, privateKey })
    }
  })
  return cells
}

/** Starts a coordinator with the parts that commands need. */
const startCoordinator = async (store: Store) => {
  const signer = createSigner(generatePrivateKey())
  const cells = new Cells({ store, logger })
  const sentAtMs = new Map<string, number>()
  const ended = new Map<string, (fromBrokerMs: number) => void>()
  const fleet = new Fleet({
    limits: { suspectAfterMs: 60_000, deadAfterMs: 90_000 },
    nowMs: () => performance.now(),
    onPresenceChange: () => {},
  })
  for (const { id } of await cells.list()) fleet.admit(id, 0)
  const control = await createControl({
    store,
    replicas: createSoleReplica({
      id: 'rep_bench',
      name: undefined,
      address: undefined,
      version: '',
      startedAt: 0,
    }),
    signer,
    cells,
    fleet,
    publish: (name, cellId, body, id) => {
      if (id !== undefined) sentAtMs.set(id, performance.now())
      return bus.publish(name, cellId, name, body, id)
    },
    now: Date.now,
    runtime: systemRuntime,
    logger,
  })
  const ack = async (cellId: string, body: unknown): Promise<void> => {
    await control.commands.acknowledge(cellId, body)
    const { command_id, state } = Ack.parse(body)
    if (!FINAL_STATES.includes(state)) return
    ended.get(command_id)?.(performance.now() - (sentAtMs.get(command_id) ?? Number.NaN))
    sentAtMs.delete(command_id)
  }
  const hears = {
    ...control.hears,
    onAck: (cellId: string, body: unknown) => void ack(cellId, body),
  }
  const authenticate = async (cellId: string, credential: string): Promise<boolean> =>
    (await cells.authenticate(cellId, credential)) !== undefined
  const bus = await createEmbeddedBus({
    logger,
    nowMs: () => performance.now(),
    epoch: 1,
    authenticate,
    onActivity: cellId => fleet.touch(cellId),
    receive: createInbox({ fleet, logger, onBirth: () => {}, control: hears }),
    onTakeover: () => {},
  })
  const server = createServer().listen(0, '127.0.0.1')
  acceptUpgrades(server, {
    replicaId: 'rep_test',
    logger,
    authenticate,
    isLeaving: () => false,
    openMqtt: (socket, cellId) => bus.handle(socket, cellId),
    openLink: socket => socket.destroy(),
  })
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const close = async (): Promise<void> => {
    await bus.close()
    server.close()
    server.closeAllConnections()
    await control.commands.close()
    cells.close()
  }
  return { url, key: signer.publicKey, commands: control.commands, fleet, ended, close }
}

type Coordinator = Awaited<ReturnType<typeof startCoordinator>>

/** Pings cells in turn at a steady rate, whatever becomes of the ones before. */
const measure = async (
  { commands, ended }: Coordinator,
  cellIds: string[],
  rate: number,
  seconds: number,
): Promise<ReportRow> => {
  const wholeMs: number[] = []
  const brokerMs: number[] = []
  const states = new Map<string, number>()
  const began = performance.now()
  const cpuBefore = cpuMs(process.pid)
  const running: Promise<void>[] = []
  const one = async (cellId: string): Promise<void> => {
    const startedMs = performance.now()
    const request = { cellId, verb: 'ping', params: {}, mode: 'live' as const, ttlSeconds: 30 }
    const { id } = await commands.create(request, { actor: 'bench' })
    const fromBroker = await new Promise<number>(resolve => ended.set(id, resolve))
    wholeMs.push(performance.now() - startedMs)
    brokerMs.push(fromBroker)
    ended.delete(id)
    const state = (await commands.get(id))?.state ?? 'none'
    states.set(state, (states.get(state) ?? 0) + 1)
  }
  for (let sent = 0; sent < rate * seconds; ) {
    const due = Math.min(rate * seconds, Math.floor(((performance.now() - began) * rate) / 1000))
    for (; sent < due; sent++) running.push(one(cellIds[sent % cellIds.length] as string))
    await pause(1)
  }
  await Promise.all(running)
  const cpu = (cpuMs(process.pid) - cpuBefore) / running.length
  return {
    'commands/s': rate,
    commands: running.length,
    succeeded: states.get('succeeded') ?? 0,
    'p50 ms': round(percentile(wholeMs, 50)),
    'p99 ms': round(percentile(wholeMs, 99)),
    'from broker p50': round(percentile(brokerMs, 50)),
    'from broker p99': round(percentile(brokerMs, 99)),
    'max ms': round(Math.max(...wholeMs)),
    'CPU ms each': round(cpu),
  }
}

export const main = async (argv: string[]): Promise<void> => {
  const { values } = parseArgs({
    args: argv,
    options: {
      cells: { type: 'string', default: '1000' },
      seconds: { type: 'string', default: '15' },
      rates: { type: 'string', default: '100,460' },
      journal: { type: 'string', default: 'memory' },
    },
  })
  const folder = mkdtempSync(join(tmpdir(), 'shoal-bench-commands-'))
  const store = await openStore(join(folder, 'coordinator'))
  const cells = await enrol(store, Number(values.cells))
  const coordinator = await startCoordinator(store)
  const child = fork(join(import.meta.dirname, 'commands', 'cells.ts'))
  child.send({
    url: coordinator.url,
    folder: join(folder, 'cells'),
    coordinatorKey: coordinator.key,
    journal: values.journal === 'disk' ? 'disk' : 'memory',
    cells,
  } satisfies BenchCellsOptions)
  const isReady = (id: string): boolean => coordinator.fleet.cell(id)?.presence === 'ready'
  const startedMs = performance.now()
  while (!cells.every(({ id }) => isReady(id))) await pause(50)
  console.log(`${cells.length} cells ready in ${Math.round(performance.now() - startedMs)} ms`)

  const ids = cells.map(({ id }) => id)
  await measure(coordinator, ids, 50, 3)
  const rows: ReportRow[] = []
  for (const rate of values.rates.split(',').map(Number))
    rows.push(await measure(coordinator, ids, rate, Number(values.seconds)))
  report('commands', values, rows)

  child.disconnect()
  await once(child, 'exit')
  await coordinator.close()
  await store.close()
  rmSync(folder, { recursive: true, force: true })
}
