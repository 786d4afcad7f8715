import { createUnknownError } from '../../../shared/reference-errors.ts'
import { FIRST_CAPABILITY } from '../../../shared/wire/capability.ts'
import type { DeviceProfileFacts } from '../../../shared/wire/device.ts'
import type { Fleet } from '../../fleet/cells/fleet.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import { nextSequence } from '../../kernel/store/sequences.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Device } from './device.table.ts'
import { compareByName } from './device.ts'
import type { DeviceInventory } from './device-inventory.ts'
import { putDevices, readDevices } from './device-rows.ts'
import type { DeviceReadings, DeviceStates } from './device-states.ts'
import { findDevice, findEveryDevice, findReadDevice, matchEveryDevice } from './find-device.ts'
import { eventOf } from './judge-device.ts'

interface DevicesParts {
  ledger: Ledger
  inventory: Pick<DeviceInventory, 'get' | 'list' | 'listByCell'>
  states: Pick<DeviceStates, 'read'>
  fleet: Pick<Fleet, 'cell'>
  events: Pick<Events, 'addWithin'>
  /** Reads what has changed in the store; resolves also when that fails, and is repeated then. */
  look: () => Promise<void>
  /** Unix milliseconds. */
  now: () => number
}

/** The devices of the fleet. */
export class Devices {
  readonly #parts: DevicesParts

  constructor(parts: DevicesParts) {
    this.#parts = parts
  }

  get(id: string): Device | undefined {
    return this.#parts.inventory.get(id)
  }

  /** Finds the device that is to be changed; see `findDevice`. */
  find(reference: string): Device {
    return findDevice(this.#parts.inventory.list(), reference)
  }

  /** Finds every device that is to be brought to rest; see `findEveryDevice`. */
  findEvery(reference: string): [Device, ...Device[]] {
    return findEveryDevice(this.#parts.inventory.list(), reference)
  }

  /** The same, or none; see `matchEveryDevice`. */
  matchEvery(reference: string): Device[] {
    return matchEveryDevice(this.#parts.inventory.list(), reference)
  }

  /** Finds the device that is to be read; see `findReadDevice`. */
  findToRead(reference: string): Device {
    return findReadDevice(this.#parts.inventory.list(), reference)
  }

  /** Every device that a cell announces, by name. */
  list(): Device[] {
    return this.#parts.inventory.list().sort((a, b) => compareByName(nameOf(a), nameOf(b)))
  }

  /** Devices that a cell announces, also those that belong to another cell. */
  listByCell(cellId: string): Device[] {
    return this.#parts.inventory.listByCell(cellId)
  }

  /** Profile of a device; undefined until its cell has announced itself to this coordinator. */
  profile({ cellId, facts }: Pick<Device, 'cellId' | 'facts'>): DeviceProfileFacts | undefined {
    const profiles = this.#parts.fleet.cell(cellId)?.announce?.device_profiles ?? []
    return profiles.find(({ profile }) => profile === facts.profile)
  }

  /** Capability level of the cell of a device. */
  level({ cellId }: Pick<Device, 'cellId'>): number {
    return this.#parts.fleet.cell(cellId)?.announce?.capability ?? FIRST_CAPABILITY
  }

  /** Newest readings of a device; undefined until its cell has sent any. */
  state(device: Pick<Device, 'id' | 'cellId' | 'facts'>): DeviceReadings | undefined {
    const { states, now } = this.#parts
    return states.read(device.cellId, device.id, { profile: this.profile(device), now: now() })
  }

  /** Replaces the labels of a device. Throws `not_found` for one that no cell announces. */
  async setLabels(id: string, labels: Record<string, string>, by: Actor): Promise<Device> {
    const { ledger, events, look, now } = this.#parts
    const labelled = await ledger.sealed.write(async trx => {
      const before = (await readDevices(trx, [id])).get(id)
      if (before === undefined || before.goneAt !== undefined)
        throw createUnknownError('device', id, { param: 'device_id' })
      const device: Device = { ...before, labels, changedAt: now() }
      await putDevices(trx, [device], await nextSequence(trx, 'devices'))
      await bumpRevision(trx, 'devices')
      await events.addWithin(trx, [eventOf('changed', device, { changes: ['labels'] })])
      await appendAudit(trx, {
        ...by,
        at: now(),
        action: 'device.label',
        subject: id,
        outcome: 'done',
        details: { labels },
      })
      return device
    })
    await look()
    return labelled
  }
}

const nameOf = ({ id, facts }: Device) => ({ id, name: facts.name })
