import { CellEstop } from '../../../daemon/estop/cell-estop.ts'
import { EstopLatch } from '../../../daemon/estop/latch.ts'
import type { LatchFile } from '../../../daemon/estop/latch-file.ts'
import type { StoppableDevices } from '../../../daemon/estop/stoppable-devices.ts'
import { EstopService } from '../../../daemon/services/estop.ts'
import type { Signer } from '../../../shared/signing.ts'
import { waitUntilAborted } from '../../../shared/wait.ts'
import { envelope } from '../../../shared/wire/envelope.ts'
import {
  coversDevice,
  type EngagedStop,
  type EstopBody,
  type EstoppedBody,
} from '../../../shared/wire/estop.ts'
import { silent } from '../../support/cell.ts'
import type { EstopStep, LatchMood } from './estop-steps.ts'
import { StopDocuments } from './stop-documents.ts'

interface EstopHistoryParts {
  cellId: string
  coordinator: Signer
  stranger: Signer
  cell: Signer
  /** Unix milliseconds. */
  now: () => number
  crash: () => Promise<void>
  violations: string[]
}

/** One life of the daemon. */
interface EstopLife {
  isCurrent: () => boolean
  signal: AbortSignal
  devices: StoppableDevices
}

/** A stop that must hold its devices. */
interface RequiredStop {
  stop: EngagedStop
  /** True once the cell has confirmed it: then no crash may lose it. */
  isConfirmed: boolean
}

/**
 * The e-stops of one cell: a coordinator whose documents arrive late, often or never, the latch on a
 * disk that fails, and the stops that must be in force at each moment.
 */
export class EstopHistory {
  readonly counts = { estops: 0, releases: 0, freed: 0 }
  readonly #parts: EstopHistoryParts
  #disk: string | undefined
  #mood: LatchMood = 'sound'
  readonly #documents: StopDocuments
  readonly #required = new Map<string, RequiredStop>()
  /** Highest version of a document that was delivered. */
  #newest = 0
  /** Devices that no stop holds any more. */
  readonly #freed = new Set<string>()
  readonly #stopped = new Set<string>()
  #open: { estop: CellEstop; devices: StoppableDevices; hear: (body: unknown) => void } | undefined

  constructor(parts: EstopHistoryParts) {
    this.#parts = parts
    this.#documents = new StopDocuments(parts)
  }

  /** Starts the daemon's part; what no earlier life has confirmed may be lost. */
  async start(life: EstopLife): Promise<CellEstop> {
    const { now, cellId } = this.#parts
    this.#open = undefined
    this.#mood = 'sound'
    this.#stopped.clear()
    for (const [id, { isConfirmed }] of this.#required) if (!isConfirmed) this.#required.delete(id)
    const latch = await EstopLatch.open({ file: this.#file(life), now, logger: silent })
    const estop = new CellEstop({ latch, now, logger: silent, wait: waitUntilAborted })
    const devices: StoppableDevices = {
      listDevices: life.devices.listDevices,
      onChange: life.devices.onChange,
      stopDevice: (deviceId, behaviour) => {
        this.#stopped.add(deviceId)
        return life.devices.stopDevice(deviceId, behaviour)
      },
    }
    estop.attach({ cellId, devices })
    const hear = await this.#serve(estop, life)
    if (life.isCurrent()) this.#open = { estop, devices, hear }
    return estop
  }

  take(step: EstopStep): void {
    const documents = this.#documents
    if (step.act === 'disk') this.#mood = step.mood
    if (step.act === 'engage here') this.#engageHere(step.which)
    if (step.act === 'deliver') this.#deliver(documents.pick(step.which))
    if (step.act === 'forge') this.#open?.hear(documents.forge(step.how))
    if (step.act === 'engage') {
      const document = documents.engage(step.scope, this.#targetOf(step.scope, step.which))
      if (step.deliver) this.#deliver(document)
    }
    if (step.act === 'release') {
      const document = documents.release(step.which)
      if (step.deliver) this.#deliver(document)
    }
  }

  /** Notes a motion that must not happen while a stop holds its device. */
  judgeMotion(deviceId: string): void {
    for (const { stop } of this.#required.values())
      if (this.#listCovered(stop).includes(deviceId))
        this.#parts.violations.push(`it moved under the e-stop of ${stop.scope}`)
    if (this.#freed.has(deviceId)) this.counts.freed++
  }

  /** Checks that every stop that must be in force holds its devices. */
  judge(): void {
    const { estop } = this.#open ?? {}
    if (estop === undefined) return
    for (const { stop, isConfirmed } of this.#required.values())
      for (const deviceId of this.#listCovered(stop)) {
        const what = `${isConfirmed ? 'confirmed ' : ''}e-stop of ${stop.scope}`
        if (estop.findStop(deviceId) === undefined)
          this.#parts.violations.push(`a ${what} was lost`)
        if (!this.#stopped.has(deviceId))
          this.#parts.violations.push(`a ${what} has not stopped its device`)
      }
  }

  #engageHere(which: number): void {
    if (this.#open === undefined) return
    const { estop } = this.#open
    const known = new Set(estop.listStops().map(({ estop_id }) => estop_id))
    const deviceId = this.#targetOf('device', which) ?? undefined
    const latched = estop.engage({ deviceId, reason: 'smoke', by: 'local:ann' })
    latched.catch(() => {})
    const stop = estop.listStops().find(({ estop_id }) => !known.has(estop_id))
    if (stop === undefined) return
    this.#documents.takeOver(stop)
    this.#require(stop)
  }

  #deliver(document: EstopBody | undefined): void {
    if (document === undefined || this.#open === undefined) return
    const { version, engaged, released } = document
    this.#open.hear(document)
    for (const { estop_id } of released) this.#free(estop_id)
    if (version < this.#newest) return
    this.#newest = version
    for (const stop of engaged) this.#require(stop)
  }

  #require(stop: EngagedStop): void {
    if (this.#required.has(stop.estop_id)) return
    this.counts.estops++
    this.#required.set(stop.estop_id, { stop, isConfirmed: false })
    for (const deviceId of this.#listCovered(stop)) this.#freed.delete(deviceId)
  }

  #free(estopId: string): void {
    const { stop } = this.#required.get(estopId) ?? {}
    if (stop === undefined) return
    this.counts.releases++
    this.#required.delete(estopId)
    for (const deviceId of this.#listCovered(stop)) this.#freed.add(deviceId)
  }

  #targetOf(scope: EngagedStop['scope'], which: number): string | null {
    const devices = this.#open?.devices.listDevices() ?? []
    const device = devices[which % devices.length]
    if (scope === 'all') return null
    if (scope === 'cell') return this.#parts.cellId
    return (scope === 'site' ? device?.site : device?.deviceId) ?? 'none'
  }

  #listCovered(stop: EngagedStop): string[] {
    const { cellId } = this.#parts
    const devices = this.#open?.devices.listDevices() ?? []
    return devices
      .filter(device => coversDevice(stop, { cellId, ...device }))
      .map(({ deviceId }) => deviceId)
  }

  /** Returns how the daemon hears a document. Its reports confirm what no crash may lose. */
  async #serve(
    estop: CellEstop,
    { isCurrent, signal }: EstopLife,
  ): Promise<(body: unknown) => void> {
    const { cellId, cell, coordinator, now } = this.#parts
    let hear = (_body: unknown): void => {}
    const publish = async (_name: string, body: unknown): Promise<void> => {
      if (!isCurrent()) return
      for (const { estop_id } of (body as EstoppedBody).latched) {
        const required = this.#required.get(estop_id)
        if (required !== undefined) required.isConfirmed = true
      }
    }
    await new EstopService({
      cellId,
      estop,
      uplink: {
        on: (_name, listener) => {
          hear = body =>
            listener(envelope('coordinator', 1, 'estop', JSON.parse(JSON.stringify(body))), 'rep_a')
          return () => {}
        },
        onReady: () => () => {},
        publishToAll: publish,
      },
      signer: cell,
      listTrustedKeys: () => [coordinator.publicKey],
      now,
      logger: silent,
      wait: waitUntilAborted,
    }).start({ signal, fail: () => {} })
    return body => hear(body)
  }

  #file({ isCurrent }: EstopLife): LatchFile {
    return {
      read: async () => this.#disk,
      replace: async text => {
        if (!isCurrent()) return forever()
        const mood = this.#mood
        this.#mood = 'sound'
        if (mood === 'fails') throw new Error('no space left')
        if (mood !== 'dies before') this.#disk = text
        if (!mood.startsWith('dies')) return
        await this.#parts.crash()
        return forever()
      },
    }
  }
}

const forever = (): Promise<never> => new Promise(() => {})
