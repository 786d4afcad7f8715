import { isDeepStrictEqual } from 'node:util'
import { ShoalError } from '../../../shared/errors.ts'
import { mergeDocuments } from '../../../shared/wire/desired.ts'
import type { Job } from '../../kernel/queue/job.ts'
import { readEach } from '../../kernel/store/read-each.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import { configTable } from '../control/config.table.ts'
import { type ConfigDocument, readCellConfigs } from '../control/config-store.ts'
import type { CellConfig, Configs } from '../control/configs.ts'
import { cellsSoFar, type RampUp } from './ramp-up.ts'
import { actorOf, createRetry, requireHeld } from './ramp-up-claim.ts'

export interface SettingsParts {
  ledger: Ledger
  configs: Pick<Configs, 'set' | 'show'>
}

/**
 * Gives the cells of the stage their settings. Complete once each has applied them; a fault when
 * somebody else has changed the settings of one.
 */
export const applyStage = async (
  parts: SettingsParts,
  rampUp: RampUp,
  job: Job,
  shownCells: ShownCells,
): Promise<{ isComplete: boolean; fault?: string }> => {
  const { plan, stage } = rampUp
  const cells = plan.stages[stage] ?? []
  const documents = await readCellConfigs(parts.ledger.read, cells)
  let isComplete = true
  for (const cellId of cells) {
    const { before, given } = settingsOf(rampUp, cellId)
    const own = documents.get(cellId)
    const isGiven = isDeepStrictEqual(own?.document, given)
    if (!isGiven && !isDeepStrictEqual(own?.document ?? {}, before))
      return { isComplete: false, fault: `the settings of ${cellId} were changed in the meantime` }
    const version = isGiven ? own?.version : await setHeld(parts, rampUp, job, own, cellId, given)
    const shown = isGiven ? shownCells.get(cellId) : await showCell(parts.configs, cellId)
    isComplete &&= shown !== undefined && hasApplied(shown, version ?? 0)
  }
  return { isComplete }
}

/** A coordinator may know of a change later than the ledger: the newer of both versions counts. */
const hasApplied = ({ version, reported }: CellConfig, ownVersion: number): boolean =>
  reported?.state === 'applied' && reported.applied_version >= Math.max(version, ownVersion)

/** Gives the cells their earlier settings again, where nobody has changed them since. */
export const restoreSettings = async (
  parts: SettingsParts,
  rampUp: RampUp,
  job: Job,
): Promise<void> => {
  const cells = cellsSoFar(rampUp)
  // settings that cannot be read were changed by somebody else
  const documents = await readCellConfigs(parts.ledger.read, cells, rows =>
    readEach(rows, configTable.read, undefined),
  )
  for (const cellId of cells) {
    const { before, given } = settingsOf(rampUp, cellId)
    const own = documents.get(cellId)
    if (isDeepStrictEqual(own?.document, given))
      await setHeld(parts, rampUp, job, own, cellId, before).catch(ignoreRemovedCell)
  }
}

const settingsOf = ({ plan }: RampUp, cellId: string) => {
  const before = plan.before[cellId] ?? {}
  return { before, given: mergeDocuments(before, plan.document) }
}

/**
 * Replaces the settings of a cell while this claim has the ramp-up and they are as they were read;
 * otherwise throws JobError. Returns their version.
 */
const setHeld = async (
  { configs }: SettingsParts,
  rampUp: RampUp,
  job: Job,
  own: ConfigDocument | undefined,
  cellId: string,
  document: Record<string, unknown>,
): Promise<number> => {
  try {
    const set = await configs.set(
      {
        scope: 'cell',
        name: cellId,
        document,
        ifVersion: own?.version ?? 0,
        require: trx => requireHeld(trx, rampUp, job),
      },
      actorOf(rampUp),
    )
    return set.version
  } catch (error) {
    if (isRefusal(error, 'conflict'))
      throw createRetry(`the settings of ${cellId} are being changed`)
    throw error
  }
}

/** Settings of cells as one check has read them; undefined for a cell that is no longer enrolled. */
export type ShownCells = ReadonlyMap<string, CellConfig | undefined>

export const showCells = async (
  { configs }: Pick<SettingsParts, 'configs'>,
  cellIds: readonly string[],
): Promise<ShownCells> => {
  const shown = new Map<string, CellConfig | undefined>()
  for (const cellId of cellIds) shown.set(cellId, await showCell(configs, cellId))
  return shown
}

const showCell = async (
  configs: Pick<Configs, 'show'>,
  cellId: string,
): Promise<CellConfig | undefined> => {
  try {
    return await configs.show(cellId)
  } catch (error) {
    if (isRefusal(error, 'not_found')) return undefined
    throw error
  }
}

const ignoreRemovedCell = (error: unknown): void => {
  if (!isRefusal(error, 'not_found')) throw error
}

const isRefusal = (error: unknown, code: ShoalError['code']): boolean =>
  error instanceof ShoalError && error.code === code
