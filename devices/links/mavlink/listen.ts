import type { LinkContext } from '../../device-link.ts'
import type { MavlinkAddress } from './connection.ts'
import type { Frame } from './frame.ts'
import { MavlinkSocket } from './mavlink-socket.ts'
import { type Peer, Vehicle } from './vehicle.ts'

/** Readings that complete a status before the time is over. */
const WANTED = ['is_armed', 'battery_percent', 'gps_fix', 'altitude_m', 'battery_volts']

/** Result of listening: the first vehicle, or the reason why there is none. */
interface Heard {
  vehicle: Vehicle | undefined
  reason: string
}

/**
 * Listens on a local address until the first vehicle has reported its whole status, or the signal
 * aborts. It sends nothing.
 * @throws ShoalError scope_denied
 */
export const listenForVehicle = async (
  { host, port }: MavlinkAddress,
  context: Pick<LinkContext, 'resolveHost' | 'now' | 'nowMs'>,
  signal: AbortSignal,
): Promise<Heard> => {
  const address = await context.resolveHost(host, port)
  const over = new AbortController()
  const heard: Heard = { vehicle: undefined, reason: `no heartbeat arrived at ${host}:${port}` }
  const onFrame = (frame: Frame, peer: Peer): void => {
    heard.vehicle ??= findVehicle(frame, peer, context)
    const { vehicle } = heard
    if (vehicle === undefined || !vehicle.isOwn(frame) || !vehicle.isPeer(peer)) return
    vehicle.take(frame)
    if (WANTED.every(name => name in vehicle.readings)) over.abort()
  }
  const onFault = (reason: string | undefined): void => {
    if (reason === undefined) return
    heard.reason = `cannot listen at ${host}:${port}: ${reason}`
    over.abort()
  }
  const countVehicles = (peer: Peer): number => (heard.vehicle?.isPeer(peer) ? 1 : 0)
  const resolve = async (): Promise<Peer> => ({ address, port })
  const socket = new MavlinkSocket({
    resolve,
    nowMs: context.nowMs,
    onFrame,
    onFault,
    countVehicles,
  })
  await socket.run(AbortSignal.any([signal, over.signal]))
  return heard
}

/** The sender of a heartbeat of an autopilot becomes the vehicle. */
const findVehicle = (
  frame: Frame,
  peer: Peer,
  clocks: Pick<LinkContext, 'now' | 'nowMs'>,
): Vehicle | undefined => {
  const { systemId, componentId } = frame
  const vehicle = new Vehicle({ systemId, componentId }, clocks)
  if (!vehicle.canPin(frame)) return undefined
  vehicle.pin(peer)
  return vehicle
}
