import type * as z from 'zod'
import {
  findBluetoothCompany,
  findBluetoothService,
} from '../../../entities/vendors/bluetooth-names.ts'
import type { BleRow } from '../../../modules/network/ble-scan.ts'
import type { Advertisement } from './ble-backend.ts'
import { type BleAddressKind, classifyAddress } from './classify-address.ts'
import { type BtHomeFacts, readBtHome } from './read-bthome.ts'
import { type EddystoneFrame, readEddystone } from './read-eddystone.ts'
import { type ManufacturerFacts, readManufacturerData } from './read-manufacturer-data.ts'

type Row = z.infer<typeof BleRow>

const MAX_SERVICES = 32

/** A device of one scan: what all of its advertisements said. */
export class HeardDevice {
  readonly #address: string
  readonly #kind: BleAddressKind
  #last: Advertisement
  #count = 0
  #rssi: number | null = null
  #maker: ManufacturerFacts | undefined
  #bthome: BtHomeFacts | undefined
  #battery: number | null = null
  readonly #frames = new Map<string, EddystoneFrame>()
  readonly #protocols = new Set<Row['protocols'][number]>()

  constructor(first: Advertisement) {
    this.#address = first.address
    this.#kind = classifyAddress(first.address, first.isRandom)
    this.#last = first
  }

  /** Frames of beacons alternate, so each advertisement is read. */
  hear(heard: Advertisement): void {
    this.#last = heard
    this.#count++
    if (heard.rssi_dbm !== null && heard.rssi_dbm <= 20)
      this.#rssi = Math.max(heard.rssi_dbm, this.#rssi ?? heard.rssi_dbm)
    if (heard.manufacturerData !== undefined)
      this.#hearMaker(readManufacturerData(heard.manufacturerData))
    for (const { uuid, data } of heard.serviceData) this.#hearService(uuid, data)
  }

  #hearMaker(facts: ManufacturerFacts | undefined): void {
    if (facts === undefined) return
    this.#maker = { ...facts, ibeacon: facts.ibeacon ?? this.#maker?.ibeacon ?? null }
    if (facts.protocol !== undefined) this.#protocols.add(facts.protocol)
  }

  #hearService(uuid: string, data: Uint8Array): void {
    if (uuid === 'feaa') this.#hearEddystone(readEddystone(data))
    else if (uuid === 'fcd2') this.#hearBtHome(readBtHome(data))
    else if (uuid === 'fe2c') this.#protocols.add('fast_pair')
    else if (uuid === '180f' && data[0] !== undefined) this.#hearBattery(data[0])
  }

  #hearEddystone(frame: EddystoneFrame | undefined): void {
    if (frame === undefined) return
    this.#frames.set(frame.frame, frame)
    this.#protocols.add('eddystone')
  }

  #hearBtHome(facts: BtHomeFacts | undefined): void {
    if (facts === undefined) return
    const { battery_percent } = facts.measurements
    this.#bthome = facts
    this.#protocols.add('bthome')
    if (typeof battery_percent === 'number') this.#hearBattery(battery_percent)
  }

  #hearBattery(percent: number): void {
    if (percent <= 100) this.#battery = percent
  }

  toRow(isSimulated: boolean): Row {
    const { name, tx_power_dbm, isConnectable, serviceUuids, serviceData } = this.#last
    const uuids = new Set([...serviceUuids, ...serviceData.map(({ uuid }) => uuid)].map(padUuid))
    return {
      address: this.#address,
      address_kind: this.#kind,
      name: name === undefined ? null : cleanName(name),
      rssi_dbm: this.#rssi,
      tx_power_dbm: isByte(tx_power_dbm) ? tx_power_dbm : null,
      is_connectable: isConnectable,
      advertisements: this.#count,
      company_id: this.#maker?.companyId ?? null,
      company: this.#maker === undefined ? null : findBluetoothCompany(this.#maker.companyId),
      services: [...uuids]
        .slice(0, MAX_SERVICES)
        .map(uuid => ({ uuid: uuid.slice(0, 36), name: findBluetoothService(uuid) })),
      ibeacon: this.#maker?.ibeacon ?? null,
      eddystone: [...this.#frames.values()],
      bthome: this.#bthome ?? null,
      battery_percent: this.#battery,
      protocols: [...this.#protocols],
      is_simulated: isSimulated,
    }
  }
}

/** The library leaves zeros at the front of an assigned number out. */
const padUuid = (uuid: string): string => uuid.toLowerCase().padStart(4, '0')

/** 127 dBm says that the power is not known (Bluetooth Core Specification, volume 4, part E, 7.7.65). */
const isByte = (dbm: number | null): dbm is number => dbm !== null && dbm >= -127 && dbm < 127

/** Senders choose their name freely: control characters would reach a terminal. */
const cleanName = (name: string): string | null =>
  name.replaceAll(/\p{Cc}/gu, '').slice(0, 248) || null
