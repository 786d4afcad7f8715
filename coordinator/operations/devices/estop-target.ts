import { ShoalError } from '../../../shared/errors.ts'
import { DEVICE_ID } from '../../../shared/ids.ts'
import type { StopTarget } from '../../estop/widen.ts'
import type { Context } from '../context.ts'

interface WantedTarget {
  all?: boolean
  site?: string
  cell?: string
  device?: string
}

/**
 * Resolves what a caller wants to stop. A name that no cell announces is refused: a stop that holds
 * nothing would only look like one. Throws `invalid_request` and `not_found`.
 */
export const resolveStopTarget = (
  { all, site, cell, device }: WantedTarget,
  { fleet }: Pick<Context, 'fleet'>,
): StopTarget => {
  const given = [all === true || undefined, site, cell, device].filter(one => one !== undefined)
  if (given.length !== 1)
    throw new ShoalError('invalid_request', 'name one of all, site, cell and device to stop')
  if (device !== undefined) return { scope: 'device', target: findDeviceId(device, fleet) }
  if (site !== undefined) return { scope: 'site', target: requireSite(site, fleet) }
  if (cell !== undefined && fleet.cell(cell) === undefined)
    throw new ShoalError('not_found', `no cell ${cell}`, { param: 'cell' })
  return cell === undefined ? { scope: 'all', target: null } : { scope: 'cell', target: cell }
}

const listDevices = (fleet: Context['fleet']) =>
  [...fleet.cells()].flatMap(({ announce }) => announce?.devices ?? [])

/** An id is taken as it is: its cell may not have come back since this coordinator started. */
const findDeviceId = (reference: string, fleet: Context['fleet']): string => {
  const all = listDevices(fleet)
  const [found, ...others] = all.filter(
    ({ device_id, name }) => device_id === reference || name === reference,
  )
  const isOther = others.some(({ device_id }) => device_id !== found?.device_id)
  if (found !== undefined && !isOther) return found.device_id
  if (found === undefined && reference.startsWith('dev_') && DEVICE_ID.test(reference))
    return reference
  const why = found === undefined ? `no device ${reference}` : `several devices are ${reference}`
  throw new ShoalError('not_found', `${why}; use an id, or stop its cell, its site or all`, {
    param: 'device',
  })
}

const requireSite = (site: string, fleet: Context['fleet']): string => {
  const known = new Set(listDevices(fleet).flatMap(device => device.site ?? []))
  if (known.has(site)) return site
  const some = [...known].slice(0, 10).join(', ') || 'none'
  throw new ShoalError('not_found', `no device has the site ${site}; sites: ${some}`, {
    param: 'site',
  })
}
