import { ShoalError } from '../../../shared/errors.ts'
import type { StopTarget } from '../../estop/widen.ts'
import type { Context } from '../context.ts'

interface WantedTarget {
  all?: boolean
  site?: string
  cell?: string
  device?: string
}

/**
 * Resolves what a caller wants to stop. A name that nothing has is refused: a stop that holds nothing
 * would only look like one. Throws `invalid_request`, `not_found` and `conflict`.
 */
export const resolveStopTarget = (
  { all, site, cell, device }: WantedTarget,
  { fleet, devices }: Pick<Context, 'fleet' | 'devices'>,
): StopTarget => {
  const given = [all === true || undefined, site, cell, device].filter(one => one !== undefined)
  if (given.length !== 1)
    throw new ShoalError(
      'invalid_request',
      'give exactly one of all, site, cell and device to stop',
    )
  if (device !== undefined) return { scope: 'device', target: devices.findSimilar(device).id }
  if (site !== undefined) return { scope: 'site', target: requireSite(site, devices) }
  if (cell !== undefined) return { scope: 'cell', target: requireCell(cell, fleet) }
  return { scope: 'all', target: null }
}

/** Takes an id, or a name that one cell has: nobody looks an id up in an emergency. */
const requireCell = (cell: string, fleet: Context['fleet']): string => {
  if (fleet.cell(cell) !== undefined) return cell
  const [named, ...others] = [...fleet.cells()].filter(({ announce }) => announce?.name === cell)
  if (named === undefined) throw new ShoalError('not_found', `no cell ${cell}`, { param: 'cell' })
  if (others.length === 0) return named.id
  const ids = [named, ...others].map(({ id }) => id).slice(0, MAX_NAMED)
  throw new ShoalError('conflict', `${cell} is the name of several cells: ${ids.join(', ')}`, {
    param: 'cell',
  })
}

/** Sites or cells that an error names at most. */
const MAX_NAMED = 10

const requireSite = (site: string, devices: Context['devices']): string => {
  const known = new Set(devices.list().flatMap(({ facts }) => facts.site ?? []))
  if (known.has(site)) return site
  const named = [...known].slice(0, MAX_NAMED).join(', ') || 'there are none'
  throw new ShoalError('not_found', `no device has the site ${site}; sites: ${named}`, {
    param: 'site',
  })
}
