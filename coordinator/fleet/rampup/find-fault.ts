import { HOUR_MS } from '../../../shared/time.ts'
import type { Alert } from '../alerts/alert.ts'
import { isRoutable } from '../cells/cell.ts'
import type { Fleet } from '../cells/fleet.ts'
import type { SettingsParts, ShownCells } from './cell-settings.ts'
import type { ErrorShare, ErrorShares } from './error-share.ts'
import { cellsSoFar, type RampUp } from './ramp-up.ts'

export interface FaultParts extends SettingsParts {
  errorShares: Pick<ErrorShares, 'read' | 'readSince'>
  fleet: Pick<Fleet, 'cell'>
  alerts: () => readonly Alert[]
  /** Unix time, milliseconds. */
  now: () => number
}

/** First reason to abort: an alert, more failed requests, or a cell that refuses its settings. */
export const findFault = async (
  parts: FaultParts,
  rampUp: RampUp,
  shownCells: ShownCells,
): Promise<string | undefined> => {
  const cells = cellsSoFar(rampUp)
  const alert = parts.alerts().find(each => isFault(each, rampUp, cells))
  if (alert !== undefined) return `alert on ${alert.cellId}: ${alert.message}`
  const errors = await findErrorRise(parts, rampUp, { isFresh: false })
  if (errors !== undefined) return errors
  for (const cellId of cells) {
    const shown = shownCells.get(cellId)
    if (shown === undefined) return `${cellId} is no longer enrolled`
    const { sources, reported } = shown
    const own = sources.find(({ scope }) => scope === 'cell')
    const isRefused = reported?.state === 'refused' || reported?.state === 'rolled_back'
    if (isRefused && own !== undefined && reported.desired_version >= own.version)
      return `${cellId} has ${reported.state === 'refused' ? 'refused' : 'rolled back'} its settings`
  }
  return undefined
}

/**
 * An alert since the start that is raised. Losses of cells are judged by the ramp-up itself, because
 * one that is back in time is no fault.
 */
const isFault = (
  { rule, cellId = '', level, raisedAt, clearedAt }: Alert,
  { createdAt }: RampUp,
  cells: readonly string[],
): boolean =>
  (level === 'critical' || rule === 'engine_unreliable') &&
  rule !== 'cell_lost' &&
  clearedAt === undefined &&
  raisedAt >= createdAt &&
  cells.includes(cellId)

/** Failed requests since the stage began, against those of the hour before the start. */
export const findErrorRise = async (
  { errorShares }: Pick<FaultParts, 'errorShares'>,
  rampUp: RampUp,
  options: { isFresh: boolean },
): Promise<string | undefined> => {
  const { plan, stageBeganAt, errorsBeforePercent = 0 } = rampUp
  const share = await errorShares.readSince(cellsSoFar(rampUp), stageBeganAt, options)
  if (share.requests < plan.min_requests) return undefined
  const percent = failedPercentOf(share)
  if (percent - errorsBeforePercent <= plan.error_rise_percent) return undefined
  return `${percent.toFixed(1)} percent of ${share.requests} requests failed, after ${errorsBeforePercent.toFixed(1)} percent before the start`
}

/** Failed requests on all cells of the plan in the hour before the start, in percent. */
export const readErrorsBefore = async (
  { errorShares }: Pick<FaultParts, 'errorShares'>,
  { plan, createdAt }: RampUp,
): Promise<number> =>
  failedPercentOf(await errorShares.read(plan.stages.flat(), createdAt - HOUR_MS, createdAt))

const failedPercentOf = ({ requests, failed }: ErrorShare): number =>
  requests === 0 ? 0 : (failed / requests) * 100

/** Cells that have the settings and serve no requests. */
export const listLostCells = (fleet: Pick<Fleet, 'cell'>, rampUp: RampUp): string[] =>
  cellsSoFar(rampUp).filter(cellId => {
    const cell = fleet.cell(cellId)
    return cell === undefined || !isRoutable(cell)
  })
