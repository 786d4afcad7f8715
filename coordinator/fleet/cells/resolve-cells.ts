import { CELL_ID } from '../../../shared/ids.ts'
import { createAmbiguousError, listCandidates } from '../../../shared/reference-errors.ts'
import type { ResolveReferences } from '../../calls/invoke/resolve-references.ts'
import { CELL_FIELD, listCellFields } from './cell-field.ts'
import { type CellNames, type NamedCell, readNamedCells } from './named-cells.ts'

type Input = Record<string, unknown>

/** A value that names no cell stays: the operation knows what that means. */
export const createResolveCells =
  (views: CellNames): ResolveReferences =>
  async ({ input: schema }, input, cellId) => {
    const fields = listCellFields(schema)
    const given = input as Input
    const typed = [cellId, ...fields.flatMap(name => given[name])]
    const names = new Set(typed.filter(isName))
    if (names.size === 0) return { input, cellId }
    const cells = await readNamedCells(names, views)
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
      cellId: resolve(cellId, CELL_FIELD) as string | undefined,
    }
  }

const isName = (value: unknown): value is string =>
  typeof value === 'string' && !CELL_ID.test(value)

/**
 * Returns the id of the only cell with this whole name; the value itself where no cell has it.
 * Beginnings of ids are no names here, so that a cell may be called `cell` or `01`.
 */
const findCell = (cells: readonly NamedCell[], value: string, param: string): string => {
  const named = cells.filter(({ name }) => name === value)
  const [only] = named
  if (only === undefined) return value
  if (named.length === 1) return only.id
  const candidates = { count: named.length, candidates: listCandidates(named) }
  throw createAmbiguousError('cell', value, candidates, { param })
}
