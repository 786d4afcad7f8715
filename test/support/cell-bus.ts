import type { Test } from 'tap'
import { openBroker } from '../../coordinator/fleet/broker/open.ts'
import type { OpenPart } from '../../coordinator/kernel/base/open-all.ts'
import { CommandExecutor } from '../../daemon/commands/executor.ts'
import { CommandJournal } from '../../daemon/commands/journal.ts'
import type { DeviceHost } from '../../daemon/devices/device-host.ts'
import { createSigner, generatePrivateKey } from '../../shared/signing.ts'
import { addCell } from '../coordinator/fleet/control/cell-row.ts'
import { silent } from './cell.ts'
import type { openScene } from './coordinator.ts'

type Scene = Awaited<ReturnType<typeof openScene>>

interface CellBusOptions {
  cellId: string
  host: DeviceHost
  /** Unix time, milliseconds. */
  now?: () => number
}

/** The bus of a coordinator to one cell, whose real executor runs in this process. */
export const createCellBus = async (
  t: Pick<Test, 'teardown'>,
  { cellId, host, now = Date.now }: CellBusOptions,
) => {
  const signer = createSigner(generatePrivateKey())
  const stop = new AbortController()
  t.teardown(() => stop.abort())
  /** Cells that commands were sent to. */
  const sent: string[] = []
  let scene: Pick<Scene, 'signing' | 'controlReceiver'> | undefined
  const bus = {
    publish: async (name: string, to: string, _type: string, body: unknown) => {
      if (name !== 'cmd') return
      sent.push(to)
      if (to === cellId) void executor.receive(JSON.parse(JSON.stringify(body)))
    },
    publishToEach: (_name: string, cellIds: readonly string[]) => cellIds.map(async () => {}),
    disconnect: () => {},
    isConnected: () => true,
  }
  const lines: string[] = []
  const executor: CommandExecutor = new CommandExecutor({
    cellId,
    signer,
    listTrustedKeys: () => (scene === undefined ? [] : [scene.signing.publicKey]),
    verbs: [],
    devices: host,
    journal: await CommandJournal.open(
      {
        read: async () => lines.join(''),
        append: async text => void lines.push(text),
        replace: async text => void lines.splice(0, lines.length, text),
        close: async () => {},
      },
      now,
    ),
    clock: { bounds: () => ({ earliest: now(), latest: now() }) },
    now,
    nowMs: () => performance.now(),
    acknowledge: ack => scene?.controlReceiver.onAck(cellId, ack),
    report: () => {},
    signal: stop.signal,
    logger: silent,
  })
  const openCellBus: OpenPart = () => ({
    bus,
    arrivals: { listen: () => {} },
    busEnd: new AsyncDisposableStack(),
  })
  /** Enrols the cell, and lets its acknowledgements reach the coordinator. */
  const join = async (joined: Pick<Scene, 'signing' | 'controlReceiver' | 'store' | 'fleet'>) => {
    scene = joined
    await addCell(joined.store.ledger, cellId, signer.publicKey)
    joined.fleet.admit(cellId, 0)
  }
  return { sent, join, swap: [openBroker, openCellBus] as [OpenPart, OpenPart] }
}
