import type { EventEmitter } from 'node:events'
import { NotPossibleHere } from '../../../scan-run.ts'

/** What a scan uses of the library; its own types are for a module of another name. */
export interface NoblePeripheral {
  address: string
  addressType: string
  connectable: boolean | number | undefined
  rssi: number
  advertisement: {
    localName?: string
    txPowerLevel?: number
    manufacturerData?: Uint8Array
    serviceData?: readonly { uuid: string; data: Uint8Array }[]
    serviceUuids?: readonly string[]
  }
}

export interface Noble extends EventEmitter {
  startScanningAsync(services: readonly string[], allowDuplicates: boolean): Promise<void>
  stop(): void
}

export interface UartOptions {
  port: string
  baudRate: number
}

interface NobleLibrary {
  withBindings(type: 'default' | 'hci', options?: object): Noble
}

interface Hci {
  prototype: { onSocketData(data: Buffer): void }
}

/** A name that the compiler does not resolve: the package is optional. */
const LIBRARY: string = '@abandonware/noble'

/**
 * Loads the library and opens an adapter of it: that of the system, or one behind a serial port.
 * @throws NotPossibleHere when the library is not installed or does not load here
 */
export const openNoble = async (uart: UartOptions | undefined): Promise<Noble> => {
  // reports devices at their first advertisement, and every one, so that they can be counted
  process.env.NOBLE_REPORT_ALL_HCI_EVENTS = '1'
  try {
    const { default: library } = (await import(LIBRARY)) as { default: NobleLibrary }
    if (process.platform === 'linux' || uart !== undefined) await guardHci()
    return uart === undefined
      ? library.withBindings('default')
      : library.withBindings('hci', { hciDriver: 'uart', bindParams: { uart } })
  } catch (cause) {
    throw new NotPossibleHere(
      `the Bluetooth library ${LIBRARY} does not load: ${(cause as Error).message}`.slice(0, 400),
      { cause },
    )
  }
}

let isGuarded = false

/**
 * Drops packets that the library fails on. An advertisement with an empty field of the transmit
 * power makes it throw where nobody catches, so anybody in range could end the process.
 */
const guardHci = async (): Promise<void> => {
  if (isGuarded) return
  const { default: hci } = (await import(`${LIBRARY}/lib/hci-socket/hci.js`)) as { default: Hci }
  const { onSocketData } = hci.prototype
  hci.prototype.onSocketData = function (this: object, data) {
    try {
      onSocketData.call(this, data)
    } catch {
      // the packet is lost, as one with a wrong checksum would be
    }
  }
  isGuarded = true
}
