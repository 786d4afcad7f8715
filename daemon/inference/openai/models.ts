import { type Catalogue, type CatalogueEntry, weightsLabel } from '../../../shared/catalogue.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { ModelEntry, ModelList } from '../../../shared/wire/openai.ts'
import type { EngineView } from '../engine-view.ts'

/** @throws ShoalError invalid_model when the cell has no such model of that kind */
export const findModel = (
  engines: EngineView,
  id: string,
  kind: CatalogueEntry['kind'],
): NonNullable<ReturnType<EngineView['find']>> => {
  const found = engines.find(id)
  if (found === undefined) throw createInvalidModelError(`no model is called ${id}`)
  if (found.entry.kind !== kind) throw createInvalidModelError(`${id} is no ${kind} model`)
  return found
}

const createInvalidModelError = (message: string): ShoalError =>
  new ShoalError('invalid_model', message, { param: 'model' })

/** @param created unix time, seconds */
export const modelList = (catalogue: Catalogue, created: number): ModelList => ({
  object: 'list',
  data: catalogue.map(entry => modelEntry(entry, created)),
})

const modelEntry = (entry: CatalogueEntry, created: number): ModelEntry => {
  const weights = weightsLabel(entry)
  return {
    id: entry.id,
    object: 'model',
    created,
    owned_by: entry.owned_by,
    ...(weights !== undefined && { weights }),
  }
}
