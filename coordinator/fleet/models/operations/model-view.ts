import * as z from 'zod'
import {
  type CatalogueEntry,
  MODEL_KINDS,
  ModelId,
  TIER_NAMES,
} from '../../../../shared/catalogue.ts'
import { NOT_TAKEN_UP } from '../../../../shared/not-taken-up.ts'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import { nameWeights } from '../../../../shared/weights-source.ts'
import { CAPABILITY, FIRST_CAPABILITY, NEEDS } from '../../../../shared/wire/capability.ts'
import { type EngineReport, ModelState } from '../../../../shared/wire/telemetry.ts'
import { type Cell, engineReports } from '../../cells/cell.ts'
import type { FleetViews } from '../../cells/open.ts'
import { isPresent } from '../../cells/presence.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { contextInForce } from '../../routing/context-in-force.ts'
import type { ModelViews } from '../open.ts'

export const ModelPath = z.strictObject({ model: ModelId.describe('Id of the model.') })

const Count = z.number().nonnegative().nullable()

export const ModelOrigin = z
  .enum(['configuration', 'added', 'alias'])
  .describe('`added` by an operator while the coordinator runs.')

/** A model on one cell. Null where the cell reports nothing. */
const CellStanding = z.object({
  cell_id: z.string(),
  name: z.string().nullable().describe('Name of the cell.'),
  own_weights: z
    .boolean()
    .describe(
      "True when the cell's own file gives the added id to other weights, which it serves.",
    ),
  state: ModelState.nullable().describe('Null when the cell does not have the model yet.'),
  refused: z.boolean().describe('True when the cell cannot open the weights; `reason` states why.'),
  phase: z.string().nullable().describe('downloading, checking or loading.'),
  progress_percent: z.number().nullable(),
  downloaded_bytes: Count,
  download_total_bytes: Count,
  download_bytes_per_second: Count,
  remaining_seconds: z.int().nullable(),
  file_bytes: Count.describe('Size of the weights; null while they are not on its disk.'),
  memory_bytes: Count.describe('Memory that the model takes, or would take once loaded.'),
  requests: z.int().describe('Requests that run or wait on its engine.'),
  pinned: z.boolean().nullable(),
  reason: z.string().nullable(),
})
type CellStanding = z.input<typeof CellStanding>

export const ModelDetails = z.object({
  id: z.string(),
  kind: z.enum(MODEL_KINDS),
  minimum_tier: z.enum(TIER_NAMES),
  origin: ModelOrigin,
  alias_of: z.string().nullable(),
  aliases: z.array(z.string()),
  weights: z.string(),
  sha256: z.string().nullable(),
  context_length: z
    .int()
    .describe(
      'Maximum tokens of one request now: the requested value, or that of the file where it is lower.',
    ),
  owned_by: z.string(),
  note: z.string(),
  on: z.array(z.string()).describe('Cells that it was added for; all when empty.'),
  cells: z.array(CellStanding),
})
type ModelDetails = z.input<typeof ModelDetails>

type Views = Pick<FleetViews, 'fleet'> & ModelViews

/** @throws ShoalError model_not_found */
export const findEntry = ({ catalogue }: Pick<Views, 'catalogue'>, id: string): CatalogueEntry => {
  const entry = catalogue.find(each => each.id === id)
  if (entry === undefined) throw createUnknownError('model', id)
  return entry
}

/** @throws ShoalError model_not_found */
export const describeModel = (views: Views, id: string): ModelDetails => {
  const entry = findEntry(views, id)
  const registered = views.models.find(id)
  const aliasOf = registered?.aliasOf ?? null
  return {
    id,
    kind: entry.kind,
    minimum_tier: entry.minimum_tier,
    origin: findOrigin(views.models, id),
    alias_of: aliasOf,
    aliases: views.models.aliasesOf(id),
    weights: nameWeights(entry.weights),
    sha256: entry.sha256 ?? null,
    context_length: contextInForce(entry, listEngines(views, id)),
    owned_by: entry.owned_by,
    note: entry.note,
    on: [...listCells(views, id)],
    cells: listStandings(views, id),
  }
}

export const findOrigin = (models: Views['models'], id: string): z.input<typeof ModelOrigin> => {
  const registered = models.find(id)
  if (registered === undefined) return 'configuration'
  return registered.aliasOf === undefined ? 'added' : 'alias'
}

const listEngines = ({ fleet }: Pick<Views, 'fleet'>, id: string) =>
  [...fleet.cells()]
    .filter(({ presence }) => isPresent(presence))
    .flatMap(cell => engineReports(cell))
    .filter(({ models, state }) => models.includes(id) && state !== 'failed')
    .map(({ state, context_length }) => ({
      ready: state === 'ready',
      contextLength: context_length,
    }))

/** Ids of the cells that an added model, or the model of an alias, is for; all when empty. */
const listCells = ({ models }: Pick<Views, 'models'>, id: string): readonly string[] => {
  const registered = models.find(id)
  return (
    (registered?.aliasOf === undefined ? registered : models.find(registered.aliasOf))?.cells ?? []
  )
}

/** The model on the cells that have it, and on those that are to have it. */
const listStandings = (views: Views, id: string): CellStanding[] => {
  const isAdded = views.models.find(id) !== undefined
  const meant = listCells(views, id)
  const isMeant = (cellId: string) => isAdded && (meant.length === 0 || meant.includes(cellId))
  const known = [...views.fleet.cells()].flatMap(cell => {
    const report = engineReports(cell).find(({ models }) => models.includes(id))
    if (report !== undefined && isPresent(cell.presence)) return standingOf(cell, id, report)
    return isMeant(cell.id) ? absent(cell, whyAbsent(cell)) : []
  })
  const others = meant.filter(cellId => !known.some(({ cell_id }) => cell_id === cellId))
  return [...known, ...others.map(cellId => absent({ id: cellId }, 'the cell is not connected'))]
}

const whyAbsent = ({ presence, announce }: Cell): string => {
  if (!isPresent(presence)) return 'the cell is not connected'
  const level = announce?.capability ?? FIRST_CAPABILITY
  if (level >= NEEDS.models) return NOT_TAKEN_UP
  return `its daemon has capability level ${level} of ${CAPABILITY} and needs ${NEEDS.models}; update it`
}

type Named = Pick<Cell, 'id'> & Partial<Pick<Cell, 'announce'>>

const nameOf = ({ id, announce }: Named) => ({ cell_id: id, name: announce?.name ?? null })

const standingOf = (cell: Named, id: string, report: EngineReport): CellStanding => ({
  ...nameOf(cell),
  own_weights: report.own_models?.includes(id) === true,
  state: report.state,
  refused: report.refused === true,
  phase: report.phase ?? null,
  progress_percent: report.progress_percent ?? null,
  downloaded_bytes: report.downloaded_bytes ?? null,
  download_total_bytes: report.download_total_bytes ?? null,
  download_bytes_per_second: report.download_bytes_per_second ?? null,
  remaining_seconds: report.remaining_seconds ?? null,
  file_bytes: report.file_bytes ?? null,
  memory_bytes: report.memory_bytes ?? null,
  requests: report.slots_busy + report.queued,
  pinned: report.pinned ?? null,
  reason: report.reason ?? null,
})

const absent = (cell: Named, reason: string): CellStanding => ({
  ...nameOf(cell),
  own_weights: false,
  state: null,
  refused: false,
  phase: null,
  progress_percent: null,
  downloaded_bytes: null,
  download_total_bytes: null,
  download_bytes_per_second: null,
  remaining_seconds: null,
  file_bytes: null,
  memory_bytes: null,
  requests: 0,
  pinned: null,
  reason,
})

/** Throws `not_found` for a cell that is not enrolled, or revoked. */
export const requireCells = async (
  { cells }: Pick<EnrolmentViews, 'cells'>,
  ids: readonly string[],
): Promise<void> => {
  for (const id of ids) {
    const cell = await cells.get(id)
    if (cell === undefined || cell.revokedAt !== undefined)
      throw createUnknownError('cell', id, { param: 'on' })
  }
}
