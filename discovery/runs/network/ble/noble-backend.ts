import { NotPossibleHere } from '../../../scan-run.ts'
import type { Advertisement, BleBackend } from './ble-backend.ts'
import { type Noble, type NoblePeripheral, openNoble, type UartOptions } from './noble-library.ts'

/** Time in which an adapter must be ready; one that is switched off reports that at once. */
const READY_MS = 4000
/** The same for a controller behind a serial port, which is reset and set up command by command. */
const SERIAL_READY_MS = 8000

/** The Bluetooth adapter that noble finds, or the one behind a serial port. */
export const createNobleBackend = (uart: UartOptions | undefined): BleBackend => ({
  listen: async (onAdvertisement, { timeoutMs, signal }) => {
    const noble = await openNoble(uart)
    const onDiscover = (found: NoblePeripheral): void => onAdvertisement(toAdvertisement(found))
    try {
      await waitUntilOn(noble, uart === undefined ? READY_MS : SERIAL_READY_MS, signal)
      noble.on('discover', onDiscover)
      await noble.startScanningAsync([], true)
      await untilAborted(AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]))
    } finally {
      noble.removeListener('discover', onDiscover)
      stop(noble)
    }
  },
})

const REASONS: Readonly<Record<string, string>> = {
  unsupported: 'this machine has no Bluetooth adapter that can scan',
  unauthorized: 'the Bluetooth adapter may not be used: the process needs CAP_NET_RAW',
  poweredOff: 'the Bluetooth adapter is switched off: bluetoothctl power on',
}

/** `poweredOff` may be followed by another state within a moment; the last one counts. */
const waitUntilOn = async (noble: Noble, readyMs: number, signal: AbortSignal): Promise<void> => {
  const ready = Promise.withResolvers<void>()
  let last = 'unknown'
  const fail = (): void => ready.reject(new NotPossibleHere(REASONS[last] ?? NO_ANSWER))
  const onState = (state: string): void => {
    last = state
    if (state === 'poweredOn') ready.resolve()
    else if (state === 'unsupported' || state === 'unauthorized') fail()
  }
  const timer = setTimeout(fail, readyMs)
  signal.addEventListener('abort', fail, { once: true })
  noble.on('stateChange', onState)
  try {
    await ready.promise
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', fail)
    noble.removeListener('stateChange', onState)
  }
}

const NO_ANSWER = 'the Bluetooth adapter does not answer'

const untilAborted = (signal: AbortSignal): Promise<void> =>
  new Promise(resolve => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })

/** An adapter that never was there cannot be closed. */
const stop = (noble: Noble): void => {
  try {
    noble.stop()
  } catch {
    // nothing is open
  }
}

const toAdvertisement = (found: NoblePeripheral): Advertisement => {
  const { localName, txPowerLevel, manufacturerData, serviceData, serviceUuids } =
    found.advertisement
  return {
    address: found.address.toLowerCase().replaceAll('-', ':'),
    isRandom: found.addressType !== 'public',
    isConnectable: found.connectable === undefined ? null : Boolean(found.connectable),
    rssi_dbm: Number.isInteger(found.rssi) ? found.rssi : null,
    tx_power_dbm: Number.isInteger(txPowerLevel) ? (txPowerLevel as number) : null,
    name: localName,
    manufacturerData,
    serviceData: serviceData ?? [],
    serviceUuids: serviceUuids ?? [],
  }
}
