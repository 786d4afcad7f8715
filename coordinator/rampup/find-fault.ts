import type { Alert } from '../fleet/alert.ts'
import { isRoutable } from '../fleet/cell.ts'
import type { Fleet } from '../fleet/fleet.ts'
import type { Records } from '../store/store.ts'
import { type SettingsParts, showCell } from './cell-settings.ts'
import { type ErrorShare, readErrorShare } from './error-share.ts'
import { cellsSoFar, type RampUp } from './ramp-up.ts'

export interface FaultParts extends SettingsParts {
  records: Records
  fleet: Pick<Fleet, 'cell'>
  alerts: () => readonly Alert[]
  /** Unix time, milliseconds. */
  now: () => number
}

const HOUR_MS = 3_600_000

/** First reason to abort: an alert, more failed requests, or a cell that refuses its settings. */
export const findFault = async (parts: FaultParts, rampUp: RampUp): Promise<string | undefined> => {
  const cells = cellsSoFar(rampUp)
  const alert = parts.alerts().find(each => isFault(each, rampUp, cells))
  if (alert !== undefined) return `alert on ${alert.cellId}: ${alert.message}`
  const errors = await findErrorRise(parts, rampUp, cells)
  if (errors !== undefined) return errors
  for (const cellId of cells) {
    const shown = await showCell(parts.configs, cellId)
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
const findErrorRise = async (
  { records, now }: FaultParts,
  { plan, stageBeganAt, errorsBeforePercent = 0 }: RampUp,
  cells: readonly string[],
): Promise<string | undefined> => {
  const share = await readErrorShare(records, cells, stageBeganAt, now())
  if (share.requests < plan.min_requests) return undefined
  const percent = percentOf(share)
  if (percent - errorsBeforePercent <= plan.error_rise_percent) return undefined
  return `${percent.toFixed(1)} percent of ${share.requests} requests failed, after ${errorsBeforePercent.toFixed(1)} percent before the start`
}

/** Failed requests on all cells of the plan in the hour before the start, in percent. */
export const readErrorsBefore = async (
  { records }: Pick<FaultParts, 'records'>,
  { plan, createdAt }: RampUp,
): Promise<number> =>
  percentOf(await readErrorShare(records, plan.stages.flat(), createdAt - HOUR_MS, createdAt))

const percentOf = ({ requests, failed }: ErrorShare): number =>
  requests === 0 ? 0 : (failed / requests) * 100

/** Cells that have the settings and serve no requests. */
export const listLostCells = (fleet: Pick<Fleet, 'cell'>, rampUp: RampUp): string[] =>
  cellsSoFar(rampUp).filter(cellId => {
    const cell = fleet.cell(cellId)
    return cell === undefined || !isRoutable(cell)
  })
