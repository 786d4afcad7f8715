import { ShoalError } from '../../shared/errors.ts'
import { DEVICE_ID } from '../../shared/ids.ts'
import type { CellEstop } from './cell-estop.ts'
import type { LocalAnswer, LocalRequest } from './local-request.ts'

/** Carries out a request of the machine itself. Throws ShoalError for an unknown device. */
export const answerLocalRequest = async (
  estop: CellEstop,
  request: LocalRequest,
): Promise<LocalAnswer> => {
  if (request.action === 'engage') {
    const { device, reason, by } = request
    const ids = device === undefined ? [undefined] : resolveDevices(estop, device)
    // a stop that the disk refuses is in force all the same, and the answer says so
    await Promise.allSettled(ids.map(deviceId => estop.engage({ deviceId, reason, by })))
  }
  const released = request.action === 'release' ? await release(estop, request) : []
  const stops = estop.listStops()
  return { stops, is_saved: estop.isSaved, released, names: namesIn(stops, estop) }
}

const namesIn = (
  stops: ReturnType<CellEstop['listStops']>,
  estop: Pick<CellEstop, 'findName'>,
): Record<string, string> => {
  const ids = stops.flatMap(({ target, failed }) => [
    ...(target === null ? [] : [target]),
    ...failed.map(one => one.device_id),
  ])
  return Object.fromEntries(
    ids.flatMap(id => {
      const name = estop.findName(id)
      return name === undefined ? [] : [[id, name]]
    }),
  )
}

const release = async (
  estop: CellEstop,
  { estop_id, reason, by }: Extract<LocalRequest, { action: 'release' }>,
): Promise<string[]> => {
  const released = await estop.release({ estopId: estop_id, reason, by })
  if (estop_id === undefined || released.length > 0) return released
  throw new ShoalError('not_found', `no e-stop ${estop_id} is latched on this cell`)
}

/** Number of devices past which one stop of the whole cell reaches them sooner. */
const MAX_DEVICES = 32

/** Every device with this id or name; the whole cell, as undefined, where these are very many. */
const resolveDevices = (estop: CellEstop, device: string): (string | undefined)[] => {
  const found = estop.listDevices(device).map(({ deviceId }) => deviceId)
  if (found.length > MAX_DEVICES) return [undefined]
  if (found.length > 0) return found
  if (DEVICE_ID.test(device)) return [device]
  throw new ShoalError(
    'not_found',
    `this cell has no device ${JSON.stringify(device)}; without --device the whole cell stops`,
  )
}
