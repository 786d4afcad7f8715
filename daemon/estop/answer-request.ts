import { ShoalError } from '../../shared/errors.ts'
import type { CellEstop } from './cell-estop.ts'
import { isDeviceId, type LocalAnswer, type LocalRequest } from './local-request.ts'

/** Carries out a request of the machine itself. Throws ShoalError for an unknown device. */
export const answerLocalRequest = async (
  estop: CellEstop,
  request: LocalRequest,
): Promise<LocalAnswer> => {
  if (request.action === 'engage') {
    const { device, reason, by } = request
    const deviceId = device === undefined ? undefined : resolveDevice(estop, device)
    // a stop that the disk refuses is in force all the same, and the answer says so
    await estop.engage({ deviceId, reason, by }).catch(() => {})
  }
  const released = request.action === 'release' ? await release(estop, request) : []
  const stops = estop.listStops()
  return { stops, is_saved: estop.isSaved, released, names: namesIn(stops, estop) }
}

const namesIn = (
  stops: ReturnType<CellEstop['listStops']>,
  estop: Pick<CellEstop, 'findDevice'>,
): Record<string, string> => {
  const ids = stops.flatMap(({ target, failed }) => [
    ...(target === null ? [] : [target]),
    ...failed.map(one => one.device_id),
  ])
  const found = ids.flatMap(id => estop.findDevice(id) ?? [])
  return Object.fromEntries(found.map(({ deviceId, name }) => [deviceId, name]))
}

const release = async (
  estop: CellEstop,
  { estop_id, reason, by }: Extract<LocalRequest, { action: 'release' }>,
): Promise<string[]> => {
  const released = await estop.release({ estopId: estop_id, reason, by })
  if (estop_id === undefined || released.length > 0) return released
  throw new ShoalError('not_found', `no e-stop ${estop_id} is latched on this cell`)
}

const resolveDevice = (estop: CellEstop, device: string): string => {
  const found = estop.findDevice(device)
  if (found !== undefined) return found.deviceId
  if (isDeviceId(device)) return device
  throw new ShoalError(
    'not_found',
    `this cell has no device ${JSON.stringify(device)}; without --device the whole cell stops`,
  )
}
