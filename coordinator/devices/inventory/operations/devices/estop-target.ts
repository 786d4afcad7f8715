import { ShoalError } from '../../../../../shared/errors.ts'
import { createUnknownError, listCandidates } from '../../../../../shared/reference-errors.ts'
import {
  hasIdPrefix,
  hasNamePrefixInAnyCase,
  isEither,
  type Named,
} from '../../../../../shared/references.ts'
import { sleep } from '../../../../../shared/runtime.ts'
import { listAnnounced, readNamedCells } from '../../../../fleet/cells/named-cells.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { EnrolmentViews } from '../../../../fleet/enrolment/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import type { StopTarget } from '../../../estop/widen.ts'
import type { DeviceViews } from '../../open.ts'

export interface WantedTarget {
  all?: boolean
  site?: string
  cell?: string
  device?: string
  /** A device, a cell or a site. */
  target?: string
}

type TargetViews = Pick<DeviceViews, 'devices'> &
  Pick<EnrolmentViews, 'cells'> &
  Pick<FleetViews, 'fleet'> &
  Pick<Context, 'runtime'>

/**
 * Finds what a caller wants to stop: everything that has the name, for nobody looks an id up in an
 * emergency. What is known in memory comes at once, and what the store alone knows after it. A name
 * that nothing has is refused: a stop that holds nothing would only look like one. Throws
 * `invalid_request` and `not_found`.
 */
export const findStopTargets = async function* (
  wanted: WantedTarget,
  views: TargetViews,
): AsyncGenerator<StopTarget> {
  const { all, site, cell, device, target } = wanted
  const given = [all === true || undefined, site, cell, device, target]
  if (given.filter(one => one !== undefined).length !== 1)
    throw new ShoalError(
      'invalid_request',
      'give exactly one of target, all, site, cell and device to stop',
    )
  if (all === true) return yield ALL
  const named = {
    devices: listDevices(device ?? target, views),
    sites: listSites(site ?? target, views),
    cells: listCells(cell ?? target, views),
  }
  const known = [...named.devices, ...named.sites, ...named.cells]
  // past this number one stop of everything is sooner at its cells
  if (known.length > MAX_TARGETS) return yield ALL
  yield* known
  const name = cell ?? target
  const stored = name === undefined ? [] : await readStoredCells(name, views)
  const later = (stored ?? []).filter(({ target: id }) => known.every(one => one.target !== id))
  if (known.length + later.length > MAX_TARGETS) return yield ALL
  yield* later
  if (known.length + later.length === 0) throwUnknown(wanted, views, stored === undefined)
}

const ALL: StopTarget = { scope: 'all', target: undefined }

/** Most targets of one name that are stopped each by itself. */
const MAX_TARGETS = 64

const listDevices = (name: string | undefined, { devices }: TargetViews): StopTarget[] =>
  name === undefined
    ? []
    : devices.matchEvery(name).map(({ id }) => ({ scope: 'device', target: id }))

const listSites = (name: string | undefined, { devices }: TargetViews): StopTarget[] =>
  name !== undefined && devices.list().some(({ facts }) => facts.site === name)
    ? [{ scope: 'site', target: name }]
    : []

/** Cells with this id or whole name, of those that are known here. */
const listCells = (name: string | undefined, { fleet }: TargetViews): StopTarget[] => {
  if (name === undefined) return []
  const own = fleet.cell(name) === undefined ? [] : [name]
  const ids = new Set([...own, ...listAnnounced(new Set([name]), fleet).map(({ id }) => id)])
  return [...ids].map(target => ({ scope: 'cell', target }))
}

/** Longest wait for the store, in milliseconds. */
const STORE_MS = 500

/** Cells that were enrolled under this name and announce none here; undefined while it is unknown. */
const readStoredCells = async (
  name: string,
  { cells, fleet, runtime }: TargetViews,
): Promise<StopTarget[] | undefined> => {
  const over = new AbortController()
  const late = sleep(runtime, STORE_MS, { signal: over.signal }).catch(() => undefined)
  const read = readNamedCells(new Set([name]), { cells, fleet }).catch(() => undefined)
  const stored = await Promise.race([read, late]).finally(() => over.abort())
  return stored?.map(({ id }) => ({ scope: 'cell', target: id }))
}

/** Throws `not_found` with the possible matches; without any, with the existing targets. */
const throwUnknown = (
  { site, cell, device, target }: WantedTarget,
  views: TargetViews,
  isStoreAway: boolean,
): never => {
  if (device !== undefined) views.devices.findEvery(device)
  const away = isStoreAway && {
    where: 'is connected, and the store does not answer now',
    hint: 'stop a site or all',
  }
  if (cell !== undefined) {
    const candidates = listCandidates(chooseSimilar(nameCells(views), cell))
    throw createUnknownError('cell', cell, { param: 'cell', candidates, ...away })
  }
  if (site !== undefined) {
    const candidates = listCandidates(chooseSimilar(nameSites(views), site))
    throw createUnknownError('site', site, { candidates })
  }
  const all = [...nameDevices(views), ...nameCells(views), ...nameSites(views)]
  throw createUnknownError('device, cell or site', `${target}`, {
    candidates: listCandidates(chooseSimilar(all, `${target}`)),
    hint: 'without a target everything stops',
    ...away,
  })
}

const isSimilar = isEither(hasNamePrefixInAnyCase, hasIdPrefix)

const chooseSimilar = (known: readonly Named[], reference: string): readonly Named[] => {
  const similar = known.filter(each => isSimilar(each, reference))
  return similar.length > 0 ? similar : known
}

const nameDevices = ({ devices }: TargetViews): Named[] =>
  devices.list().map(({ id, facts: { name } }) => ({ id, name }))

const nameCells = ({ fleet }: TargetViews): Named[] =>
  [...fleet.cells()].map(({ id, announce }) => ({ id, name: announce?.name }))

const nameSites = ({ devices }: TargetViews): Named[] => {
  const sites = new Set(devices.list().flatMap(({ facts }) => facts.site ?? []))
  return [...sites].map(id => ({ id }))
}
