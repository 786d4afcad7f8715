import { ShoalError } from '../../../shared/errors.ts'
import type { RegisteredModel as Entry } from '../../../shared/wire/registered-models.ts'
import type { EntityOf } from '../../kernel/store/define-table.ts'
import { type ModelRow, modelTable } from './model.table.ts'

type Registration = Omit<EntityOf<typeof modelTable>, 'entry' | 'aliasOf' | 'removed'>

/** A model that an operator added, or another id that an operator gave to a model. */
export type RegisteredModel = Registration &
  ({ entry: Entry; aliasOf?: never } | { entry?: never; aliasOf: string })

/** @throws for a row that only a newer coordinator understands */
export const registeredModelOf = (row: ModelRow): RegisteredModel => {
  const { aliasOf, entry, removed: _, ...registration } = modelTable.read(row)
  if (aliasOf !== undefined) return { ...registration, aliasOf }
  if (entry === undefined)
    throw new ShoalError('internal', `models ${row.id}: expected an entry or an alias`)
  return { ...registration, entry }
}
