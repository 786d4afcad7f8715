import { stat } from 'node:fs/promises'
import type { Test } from 'tap'
import { openEstop } from '../../../../coordinator/devices/estop/open.ts'
import type { Device } from '../../../../coordinator/devices/inventory/device.table.ts'
import type { Observation } from '../../../../coordinator/fleet/alerts/alert-rules.ts'
import type { Cell } from '../../../../coordinator/fleet/cells/cell.ts'
import type { FleetListeners } from '../../../../coordinator/fleet/cells/open.ts'
import { Listeners } from '../../../../coordinator/kernel/base/listeners.ts'
import type { SigningKey } from '../../../../coordinator/kernel/signing/signing.ts'
import type { ChangeHook } from '../../../../coordinator/kernel/store/change-hook.ts'
import type { LedgerTables } from '../../../../coordinator/kernel/store/tables.ts'
import { CellEstop } from '../../../../daemon/estop/cell-estop.ts'
import { EstopLatch } from '../../../../daemon/estop/latch.ts'
import { EstopService } from '../../../../daemon/services/estop.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { waitUntilAborted } from '../../../../shared/wait.ts'
import { CAPABILITY } from '../../../../shared/wire/capability.ts'
import type { DeviceFacts } from '../../../../shared/wire/device.ts'
import { NOTHING_SEEN } from '../../../../shared/wire/device-outcome.ts'
import { envelope } from '../../../../shared/wire/envelope.ts'
import type { EstopBody } from '../../../../shared/wire/estop.ts'
import { memoryFile } from '../../../daemon/estop/scene.ts'
import { silent } from '../../../support/cell.ts'
import { createEvents } from '../../../support/memory-events.ts'
import { temporaryFolder, temporaryStore } from '../../kernel/store/temporary.ts'

const signer = createSigner(generatePrivateKey())
export const PERSON = { actor: 'key:ann' }

type TestCell = Awaited<ReturnType<typeof createCell>>

/** A cell with its real latch, on an uplink that carries messages at once. */
const createCell = (deviceIds: string[], site: string | null) => {
  const id = newId('cell')
  const key = createSigner(generatePrivateKey())
  const memory = memoryFile()
  const devices = deviceIds.map(deviceId => ({
    deviceId,
    name: deviceId,
    site,
    isAvailable: true,
    atEstop: 'hold' as const,
  }))
  const live = { hear: (_body: unknown): void => {}, ready: (): void => {}, isCut: false }
  const heard: ((cellId: string, body: unknown) => void)[] = []
  const documents: EstopBody[] = []
  const publish = async (_name: string, body: unknown): Promise<void> => {
    if (live.isCut) throw new Error('no connection')
    for (const hear of heard) hear(id, JSON.parse(JSON.stringify(body)))
  }
  /** Starts the daemon, also once more with the same disk. */
  const start = async (): Promise<CellEstop> => {
    const latch = await EstopLatch.open({ file: memory.file, now: Date.now, logger: silent })
    const estop = new CellEstop({ latch, now: Date.now, logger: silent })
    estop.attach({
      cellId: id,
      devices: {
        listDevices: () => devices,
        onChange: () => () => {},
        stopDevice: async () => NOTHING_SEEN,
      },
    })
    await new EstopService({
      cellId: id,
      estop,
      uplink: {
        on: (_name, listener) => {
          live.hear = body => listener(envelope('coordinator', 1, 'estop', body), 'rep_one')
          return () => {}
        },
        onReady: listener => {
          live.ready = () => listener({ publish } as never)
          return () => {}
        },
        publishToAll: publish,
      },
      signer: key,
      listTrustedKeys: () => [signer.publicKey],
      now: Date.now,
      logger: silent,
      wait: waitUntilAborted,
    }).start({ signal: new AbortController().signal, fail: () => {} })
    return estop
  }
  const facts = devices.map(({ deviceId }) => ({ device_id: deviceId, name: deviceId, site }))
  const receive = async (body: EstopBody): Promise<void> => {
    if (live.isCut) return
    documents.push(body)
    live.hear(JSON.parse(JSON.stringify(body)))
  }
  return { id, key, facts: facts as DeviceFacts[], live, heard, documents, receive, start, memory }
}

/** Coordinators on one store, and the cells that are connected to all of them. */
export const scene = async (t: Test, { cells: count = 2 } = {}) => {
  const folder = await temporaryFolder(t)
  const cells = Array.from({ length: count }, (_, at) =>
    createCell([`dev_${at}a`, `dev_${at}b`], at === 0 ? 'hall' : 'yard'),
  )
  const clock = { ms: 0 }
  /** Starts a coordinator; `disk` decides what becomes of its writes. */
  const start = async () => {
    const disk = { fault: undefined as Error | undefined, wait: Promise.resolve() }
    const bus = { fault: undefined as Error | undefined }
    /** Documents that leave and lines of the log, in their order. */
    const order: string[] = []
    const logger = Object.assign(Object.create(silent), {
      warn: (_facts: object, message: string) => void order.push(message),
    })
    const failing: ChangeHook<LedgerTables> = async (work, commit) => {
      await disk.wait
      if (disk.fault) throw disk.fault
      return commit(work)
    }
    const store = await temporaryStore(t, folder, { hooks: { ledger: [failing] } })
    const stack = new AsyncDisposableStack()
    t.teardown(() => stack.disposeAsync())
    const registry = new Map(
      cells.map(({ id, facts }) => [
        id,
        { id, presence: 'ready', announce: { capability: CAPABILITY, devices: facts } } as Cell,
      ]),
    )
    const fleetListeners = { births: new Listeners(), removals: new Listeners() } as FleetListeners
    const alertSources = new Set<() => Iterable<Observation>>()
    const stored = new Map<string, Device>()
    const sweeps: (() => Promise<void>)[] = []
    const opened = await openEstop({
      runtime: systemRuntime,
      store,
      events: createEvents({ source: '/test', logger: silent }),
      signing: signer as SigningKey,
      cells: {
        readPublicKeys: async () => new Map(cells.map(({ id, key }) => [id, key.publicKey])),
      },
      devices: { get: id => stored.get(id) },
      fleet: { cell: id => registry.get(id), cells: () => registry.values() },
      fleetListeners,
      alertSources,
      bus: {
        publishToEach: (_name, ids, _type, body) => {
          if (bus.fault) throw bus.fault
          order.push('document')
          return ids.map(async id => cells.find(one => one.id === id)?.receive(body))
        },
      },
      schedules: { every: (_name, _seconds, run) => void sweeps.push(run as () => Promise<void>) },
      leaderWork: {
        every: (_name, _seconds, run) =>
          void sweeps.push(async () => void (await run(store.ledger))),
        runOnce: async () => {},
      },
      config: { audit: { retention_days: 183 } },
      stack,
      logger,
      now: Date.now,
      nowMs: () => clock.ms,
    })
    for (const cell of cells) cell.heard.push(opened.estopReceiver.onReport)
    const sweep = async (afterMs = 5000): Promise<void> => {
      clock.ms += afterMs
      for (const run of sweeps) await run().catch(() => {})
      await settle()
    }
    const observe = () => [...alertSources].flatMap(source => [...source()]).map(one => one.rule)
    const birth = async (cell: TestCell): Promise<void> => {
      fleetListeners.births.notify(registry.get(cell.id) as Cell)
      await settle()
    }
    const { estops } = opened.views
    return {
      ...opened,
      estops,
      store,
      disk,
      bus,
      order,
      sweep,
      observe,
      birth,
      registry,
      stored,
      stack,
    }
  }
  const coordinator = await start()
  const daemons = await Promise.all(cells.map(cell => cell.start()))
  const audit = async () => {
    const rows = await coordinator.store.ledger.read.selectFrom('audit').selectAll().execute()
    return rows.map(({ action, actor }) => `${action} by ${actor}`)
  }
  return { coordinator, start, cells, daemons, clock, audit }
}

/** Resolves when the messages under way have been handled. */
export const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) {
    await new Promise(resolve => setTimeout(resolve))
    // signatures are checked by the threads that read files
    await stat('.')
  }
}

export const heldBy = (daemon: CellEstop | undefined): string[] =>
  daemon?.listStops().map(({ estop_id }) => estop_id) ?? []
