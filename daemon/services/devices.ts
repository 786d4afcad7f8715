import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { DeviceState } from '../../shared/wire/device.ts'
import { MAX_PACKET_BYTES } from '../../shared/wire/topics.ts'
import type { DeviceHost } from '../devices/device-host.ts'
import type { Service } from '../service.ts'
import type { ControlSession } from '../uplink/control-session.ts'
import type { Uplink } from '../uplink/uplink.ts'

interface DevicesOptions {
  host: Pick<DeviceHost, 'start' | 'listDevices' | 'listStates' | 'onChange'>
  uplink: Pick<Uplink, 'onReady' | 'publishToAll'>
  /** Runs when devices were added, removed or changed in more than their readings. */
  onListChange: () => void
  logger: Pick<Logger, 'debug'>
  wait?: Wait
}

/** Shortest interval between two messages with changed states. */
const PUBLISH_EVERY_MS = 2000
/** Largest part of a packet that states take. */
const MAX_STATES_BYTES = MAX_PACKET_BYTES / 2

/** Runs the links of the devices, and publishes the readings that have changed. */
export const devicesService = (options: DevicesOptions): Service => ({
  name: 'devices',
  start: async ({ signal, fail }) => {
    const { host, uplink } = options
    let hasChanged = false
    const changes = new StateChanges(host)
    const undo = [
      host.onChange(() => {
        hasChanged = true
      }),
      uplink.onReady(session => void publishAll(session, host.listStates(), options.logger)),
    ]
    signal.addEventListener('abort', () => {
      for (const off of undo) off()
    })
    host.start(signal)
    const run = async (): Promise<void> => {
      const { wait = realWait } = options
      while (!signal.aborted) {
        await wait(PUBLISH_EVERY_MS, signal)
        if (signal.aborted || !hasChanged) continue
        hasChanged = false
        if (changes.hasListChanged()) options.onListChange()
        // readings that are lost are followed by newer ones, and by all of them after a connect
        for (const states of toPackets(changes.take()))
          await uplink.publishToAll('devices', { states }).catch(() => {})
      }
    }
    run().catch(fail)
  },
})

const publishAll = async (
  session: ControlSession,
  states: readonly DeviceState[],
  logger: DevicesOptions['logger'],
): Promise<void> => {
  try {
    for (const packet of toPackets(states)) await session.publish('devices', { states: packet })
  } catch (error) {
    logger.debug({ reason: (error as Error).message }, 'states of devices not published')
  }
}

/** Remembers what was taken, and finds what has changed since. */
class StateChanges {
  readonly #host: Pick<DevicesOptions['host'], 'listDevices' | 'listStates'>
  #states = new Map<string, string>()
  #list: string

  constructor(host: Pick<DevicesOptions['host'], 'listDevices' | 'listStates'>) {
    this.#host = host
    this.#list = this.#describeList()
  }

  hasListChanged(): boolean {
    const before = this.#list
    this.#list = this.#describeList()
    return this.#list !== before
  }

  /** States that have changed since the last call. */
  take(): DeviceState[] {
    const states = this.#host.listStates()
    const before = this.#states
    this.#states = new Map(states.map(state => [state.device_id, JSON.stringify(state)]))
    return states.filter(({ device_id: id }) => this.#states.get(id) !== before.get(id))
  }

  #describeList(): string {
    return JSON.stringify(
      this.#host.listDevices().map(({ device, site, unconfirmedStop }) => {
        const { deviceId, name, profile, available, reason, writable } = device
        return [deviceId, name, profile.id, site, available, reason, writable, unconfirmedStop]
      }),
    )
  }
}

/** Divides states so that each part fits into a packet. */
const toPackets = (states: readonly DeviceState[]): DeviceState[][] => {
  const packets: DeviceState[][] = []
  let room = 0
  for (const state of states) {
    const bytes = Buffer.byteLength(JSON.stringify(state))
    if (packets.length === 0 || bytes > room) {
      packets.push([])
      room = MAX_STATES_BYTES
    }
    packets.at(-1)?.push(state)
    room -= bytes
  }
  return packets
}
