import { setTimeout as sleep } from 'node:timers/promises'
import { ShoalError } from '../../../shared/errors.ts'
import type { StopTarget } from '../../estop/widen.ts'
import type { Context } from '../context.ts'
import { listAnnounced, readNamedCells } from '../named-cells.ts'

interface WantedTarget {
  all?: boolean
  site?: string
  cell?: string
  device?: string
}

/**
 * Resolves what a caller wants to stop: several cells where they have the same name. A name that
 * nothing has is refused: a stop that holds nothing would only look like one. Throws
 * `invalid_request`, `not_found`, and `conflict` for the beginning of several devices.
 */
export const resolveStopTargets = async (
  { all, site, cell, device }: WantedTarget,
  views: Pick<Context, 'cells' | 'fleet' | 'devices'>,
): Promise<StopTarget[]> => {
  const { devices } = views
  const given = [all === true || undefined, site, cell, device].filter(one => one !== undefined)
  if (given.length !== 1)
    throw new ShoalError(
      'invalid_request',
      'give exactly one of all, site, cell and device to stop',
    )
  if (device !== undefined) return [{ scope: 'device', target: devices.findSimilar(device).id }]
  if (site !== undefined) return [{ scope: 'site', target: requireSite(site, devices) }]
  if (cell === undefined) return [ALL]
  const ids = await findCells(cell, views)
  // past this number one stop of everything is sooner at its cells
  if (ids.length > MAX_CELLS) return [ALL]
  return ids.map(target => ({ scope: 'cell', target }))
}

const ALL: StopTarget = { scope: 'all', target: null }

/** Most cells with one name that are stopped each by itself. */
const MAX_CELLS = 64

/** Longest wait for the store, in milliseconds; it is asked only for a name that is not in memory. */
const STORE_MS = 500

/**
 * Cells with this id or whole name; several are all stopped, for nobody looks an id up in an
 * emergency. Throws `not_found`, also while the store does not answer.
 */
const findCells = async (
  cell: string,
  { cells, fleet }: Pick<Context, 'cells' | 'fleet'>,
): Promise<string[]> => {
  if (fleet.cell(cell) !== undefined) return [cell]
  const names = new Set([cell])
  const announced = listAnnounced(names, fleet)
  if (announced.length > 0) return announced.map(({ id }) => id)
  const over = new AbortController()
  const late = sleep(STORE_MS, undefined, { signal: over.signal }).catch(() => undefined)
  const read = readNamedCells(names, { cells, fleet }).catch(() => undefined)
  const stored = await Promise.race([read, late]).finally(() => over.abort())
  if (stored !== undefined && stored.length > 0) return stored.map(({ id }) => id)
  const why =
    stored === undefined
      ? ' is connected, and the store does not answer now; write the id, or stop a site or all'
      : ''
  throw new ShoalError('not_found', `no cell ${cell}${why}`, { param: 'cell' })
}

/** Sites that an error names at most. */
const MAX_NAMED = 10

const requireSite = (site: string, devices: Context['devices']): string => {
  const known = new Set(devices.list().flatMap(({ facts }) => facts.site ?? []))
  if (known.has(site)) return site
  const named = [...known].slice(0, MAX_NAMED).join(', ') || 'there are none'
  throw new ShoalError('not_found', `no device has the site ${site}; sites: ${named}`, {
    param: 'site',
  })
}
