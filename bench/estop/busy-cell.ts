import { pino } from 'pino'
import { DeviceLanes } from '../../daemon/commands/lanes.ts'
import { CellEstop } from '../../daemon/estop/cell-estop.ts'
import { EstopLatch } from '../../daemon/estop/latch.ts'
import { EstopService } from '../../daemon/services/estop.ts'
import { createSigner } from '../../shared/signing.ts'
import { waitUntilAborted } from '../../shared/wait.ts'
import { NOTHING_SEEN } from '../../shared/wire/device-outcome.ts'
import { envelope } from '../../shared/wire/envelope.ts'
import { EstopBody } from '../../shared/wire/estop.ts'
import type { BrokerTarget, CellLogin } from '../fleet/simulated-cell.ts'
import { SimulatedCell } from '../fleet/simulated-cell.ts'
import type { Turns } from './turns.ts'

const logger = pino({ level: 'silent' })

const RECONNECT_MS = 500

/** Times of a stop on a cell, in milliseconds of the wall clock with fractions. */
export interface StopTimes {
  /** The document has arrived. */
  receivedAt: number
  /** Time at which the cell was latched, with every device stopped and every verb ended. */
  latchedAt: number
  /** The coordinator has acknowledged the signed report. */
  confirmedAt: number
}

export const readClock = (): number => performance.timeOrigin + performance.now()

/**
 * A simulated cell with the e-stop of the daemon and as many busy lanes as a daemon has. Its latch is
 * in memory, because many cells that share one disk would distort the cost of each.
 */
export class BusyCell {
  readonly cell: SimulatedCell
  /** Times by the id of the stop. */
  readonly stopped = new Map<string, StopTimes>()
  readonly #devices: readonly string[]
  readonly #lanes = new DeviceLanes()
  #hear = (_body: unknown): void => {}
  #ended = 0
  #receivedAt = 0
  #startedAt = 0
  #finish = (): void => {}

  constructor(login: CellLogin, target: BrokerTarget, lanes: number, turns: Turns) {
    this.#devices = Array.from({ length: lanes }, (_, at) => `dev_${at}`)
    this.cell = new SimulatedCell(login, target, {
      ready: () => {},
      onAcknowledged: () => {},
      // a broker that is busy may drop a cell, which then comes back as a daemon does
      onClosed: () => void setTimeout(() => this.cell.open(), RECONNECT_MS).unref(),
      onMessage: (name, body) => {
        if (name !== 'estop') return
        const receivedAt = readClock()
        turns.add(() => this.#work(receivedAt, body))
      },
    })
  }

  async start({ id, privateKey = '' }: CellLogin): Promise<void> {
    const file = { read: async () => undefined, replace: async () => {} }
    const latch = await EstopLatch.open({ file, now: Date.now, logger })
    const estop = new CellEstop({ latch, now: Date.now, logger })
    const devices = this.#devices.map(deviceId => ({
      deviceId,
      name: deviceId,
      site: null,
      isAvailable: true,
      atEstop: 'hold' as const,
    }))
    estop.attach({
      cellId: id,
      devices: {
        listDevices: () => devices,
        onChange: () => () => {},
        stopDevice: async () => NOTHING_SEEN,
      },
    })
    estop.onEngage(() => this.#lanes.stopRunning(() => true))
    // the key that a document names is trusted here; checking its signature costs the same
    let key = ''
    await new EstopService({
      cellId: id,
      estop,
      uplink: {
        on: (_name, listener) => {
          this.#hear = body => {
            key = EstopBody.safeParse(body).data?.key_id ?? ''
            listener(envelope('coordinator', 1, 'estop', body), '')
          }
          return () => {}
        },
        onReady: () => () => {},
        publishToAll: (name, body) => this.#report(estop, name as 'estopped', body),
      },
      signer: createSigner(privateKey),
      listTrustedKeys: () => [key],
      now: Date.now,
      logger,
      wait: waitUntilAborted,
    }).start({ signal: new AbortController().signal, fail: () => {} })
    this.fillLanes()
  }

  /** Starts a verb on every device, which runs until it is aborted. */
  fillLanes(): void {
    this.#ended = 0
    for (const device of this.#devices)
      this.#lanes.add(device, {
        run: signal =>
          new Promise(resolve => {
            signal.addEventListener('abort', () => {
              this.#ended++
              resolve()
            })
          }),
        drop: async () => {},
      })
  }

  /** Resolves when the cell has reported. */
  #work(receivedAt: number, body: unknown): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#receivedAt = receivedAt
    this.#startedAt = readClock()
    this.#finish = resolve
    this.#hear(body)
    return promise
  }

  async #report(estop: CellEstop, name: 'estopped', body: unknown): Promise<void> {
    const [reportedAt, receivedAt] = [readClock(), this.#receivedAt]
    const latchedAt = receivedAt + (reportedAt - this.#startedAt)
    const stops = estop.listStops()
    const isAtRest = stops.every(({ failed }) => failed.length === 0)
    const acknowledged = this.cell.publish(name, body)
    this.#finish()
    await acknowledged
    const confirmedAt = latchedAt + (readClock() - reportedAt)
    if (!isAtRest || this.#ended < this.#devices.length) return
    for (const { estop_id: id } of stops)
      if (!this.stopped.has(id)) this.stopped.set(id, { receivedAt, latchedAt, confirmedAt })
  }
}
