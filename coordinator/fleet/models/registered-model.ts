import { RegisteredModel as Entry } from '../../../shared/wire/registered-models.ts'
import type { ModelRow } from './model.table.ts'

interface Registration {
  id: string
  /** Ids of the cells that it is for; all when empty. */
  cells: readonly string[]
  version: number
  /** Unix milliseconds. */
  changedAt: number
  changedBy: string
}

/** A model that an operator added, or another id that an operator gave to a model. */
export type RegisteredModel = Registration &
  ({ entry: Entry; aliasOf?: never } | { entry?: never; aliasOf: string })

/** @throws for a row that only a newer coordinator understands */
export const registeredModelOf = (row: ModelRow): RegisteredModel => {
  const { id, version, changed_at: changedAt, changed_by: changedBy } = row
  const cells = JSON.parse(row.cells_json) as string[]
  const registration = { id, cells, version, changedAt, changedBy }
  if (row.alias_of !== null) return { ...registration, aliasOf: row.alias_of }
  return { ...registration, entry: Entry.parse(JSON.parse(row.entry_json ?? 'null')) }
}
