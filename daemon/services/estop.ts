import type { Logger } from 'pino'
import type { Signer } from '../../shared/signing.ts'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import {
  EstopBody,
  type EstoppedBody,
  isGenuineEstop,
  MAX_ESTOPPED_DEVICES,
  signEstopped,
} from '../../shared/wire/estop.ts'
import type { CellEstop } from '../estop/cell-estop.ts'
import type { Service } from '../service.ts'
import type { Uplink } from '../uplink/uplink.ts'

interface EstopServiceOptions {
  cellId: string
  estop: CellEstop
  uplink: Pick<Uplink, 'on' | 'onReady' | 'publishToAll'>
  /** Signing key of this cell. */
  signer: Signer
  /** Public keys of the coordinator that this cell has pinned. */
  listTrustedKeys: () => readonly string[]
  /** Unix milliseconds. */
  now: () => number
  logger: Pick<Logger, 'warn' | 'debug'>
  wait?: Wait
}

/** Interval between stops of devices that have not confirmed one, in milliseconds. */
const RETRY_MS = 2000

/**
 * Applies the e-stop documents of the coordinators and reports what is latched: after each document,
 * after each change and after each connect. A report leaves only when the latch is on the disk.
 */
export class EstopService implements Service {
  readonly name = 'e-stop'
  readonly #options: EstopServiceOptions
  #reported: string | undefined

  constructor(options: EstopServiceOptions) {
    this.#options = options
  }

  start: Service['start'] = async ({ signal, fail }) => {
    const { uplink, estop } = this.#options
    const undo = [
      uplink.on('estop', ({ body }) => void this.#receive(body)),
      uplink.onReady(session => {
        if (this.#hasNews()) session.publish('estopped', this.#sign()).catch(() => {})
      }),
      estop.onChange(() => this.#reportChange()),
    ]
    signal.addEventListener('abort', () => {
      for (const off of undo) off()
    })
    this.#retryOften(signal).catch(fail)
  }

  async #receive(body: unknown): Promise<void> {
    const { cellId, estop, listTrustedKeys, logger } = this.#options
    try {
      const document = EstopBody.parse(body)
      const fault = findFault(document, cellId, listTrustedKeys())
      if (fault !== undefined) throw new Error(fault)
      // a document that was received before is answered again: the answer to it was lost
      this.#reported = undefined
      await estop.apply(document)
    } catch (error) {
      logger.warn({ reason: (error as Error).message.slice(0, 300) }, 'e-stop document ignored')
    }
  }

  /** False for a cell that has never had an e-stop: it reports nothing at a connect. */
  #hasNews(): boolean {
    const { estop } = this.#options
    const count = estop.version + estop.listStops().length + estop.listReleased().length
    return estop.isSaved && count > 0
  }

  #reportChange(): void {
    const { estop, uplink, logger } = this.#options
    if (!estop.isSaved) return
    const content = JSON.stringify(this.#describe())
    if (content === this.#reported) return
    this.#reported = content
    uplink
      .publishToAll('estopped', this.#sign())
      .catch(error => logger.debug({ reason: error.message }, 'e-stops not reported'))
  }

  #describe(): Pick<EstoppedBody, 'version' | 'cell_id' | 'latched' | 'released' | 'devices'> {
    const { cellId, estop } = this.#options
    const released = estop.listReleased()
    const devices = estop
      .listHeld()
      .sort((a, b) => Number(b.reason !== undefined) - Number(a.reason !== undefined))
    return {
      version: estop.version,
      cell_id: cellId,
      latched: estop.listStops(),
      ...(released.length > 0 && { released }),
      ...(devices.length > 0 && { devices: devices.slice(0, MAX_ESTOPPED_DEVICES) }),
    }
  }

  #sign(): EstoppedBody {
    return signEstopped({ ...this.#describe(), at: this.#options.now() }, this.#options.signer)
  }

  async #retryOften(signal: AbortSignal): Promise<void> {
    const { estop, wait = realWait } = this.#options
    while (!signal.aborted) {
      await wait(RETRY_MS, signal)
      if (!signal.aborted) await estop.retry()
    }
  }
}

const findFault = (
  document: EstopBody,
  cellId: string,
  trusted: readonly string[],
): string | undefined => {
  const { cell_id: target = cellId } = document
  if (target !== cellId) return 'it is for another cell'
  if (!trusted.includes(document.key_id)) return 'its key is not the coordinator’s'
  return isGenuineEstop(document, document.key_id) ? undefined : 'its signature is invalid'
}
