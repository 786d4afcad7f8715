import { ShoalError } from '../../../shared/errors.ts'
import { CELL_ID } from '../../../shared/ids.ts'
import { CELL_FIELD, listCellFields } from '../cell-field.ts'
import type { Views } from '../context.ts'
import type { Declaration } from '../declaration.ts'
import type { Call } from './invocation.ts'

type CellViews = Pick<Views, 'cells' | 'fleet'>
type Input = Record<string, unknown>

/**
 * Replaces the names of cells by their ids, in a valid input and beside it. A value that names no
 * cell stays: the operation knows what that means. Throws `conflict` for the name of several cells.
 */
export const resolveCells = async (
  { input: schema }: Pick<Declaration, 'input'>,
  input: object,
  cellId: Call['cellId'],
  views: CellViews,
): Promise<{ input: object; cellId: Call['cellId'] }> => {
  const fields = listCellFields(schema)
  const given = input as Input
  const typed = [cellId, ...fields.flatMap(name => given[name])]
  if (!typed.some(isName)) return { input, cellId }
  const cells = await listNamedCells(views)
  const resolve = (value: unknown, param: string): unknown =>
    isName(value) ? findCell(cells, value, param) : value
  const resolved = fields.flatMap(name => {
    const value = given[name]
    if (value === undefined) return []
    const toId = (each: unknown) => resolve(each, name)
    return [[name, Array.isArray(value) ? value.map(toId) : toId(value)]]
  })
  return {
    input: { ...input, ...Object.fromEntries(resolved) },
    cellId: resolve(cellId, CELL_FIELD) as Call['cellId'],
  }
}

const isName = (value: unknown): value is string =>
  typeof value === 'string' && !CELL_ID.test(value)

interface NamedCell {
  id: string
  name: string
}

/** Enrolled cells by the name that lists show. */
const listNamedCells = async ({ cells, fleet }: CellViews): Promise<NamedCell[]> =>
  (await cells.list())
    .filter(({ revokedAt }) => revokedAt === undefined)
    .map(({ id, name }) => ({ id, name: fleet.cell(id)?.announce?.name ?? name }))

/** Cells that an error names at most. */
const MAX_NAMED = 10

/**
 * Returns the id of the only cell with this whole name. A cell chooses its name, so one that is also
 * the beginning of the id of another cell stands for both.
 */
const findCell = (cells: readonly NamedCell[], value: string, param: string): string => {
  if (cells.some(({ id }) => id === value)) return value
  const named = cells.filter(({ name }) => name === value)
  if (named.length === 0) return value
  const meant = cells.filter(cell => named.includes(cell) || hasIdPrefix(cell, value))
  const [only] = named
  if (meant.length === 1 && only !== undefined) return only.id
  const listed = meant.slice(0, MAX_NAMED).map(({ id, name }) => `${name} (${id})`)
  const more = meant.length > listed.length ? ` and ${meant.length - listed.length} more` : ''
  throw new ShoalError(
    'conflict',
    `${value} matches ${meant.length} cells: ${listed.join(', ')}${more}; use an id`,
    { param },
  )
}

const hasIdPrefix = ({ id }: NamedCell, value: string): boolean =>
  id.startsWith(value) || id.startsWith(`cell_${value}`)
