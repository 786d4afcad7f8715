import { type Catalogue, type CatalogueEntry, weightsLabel } from '../../../shared/catalogue.ts'
import { createMissingModelError } from '../../../shared/catalogue-errors.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { ModelEntry, ModelList } from '../../../shared/wire/openai.ts'
import type { EngineView } from '../engine-view.ts'

/** @throws ShoalError model_not_found, or invalid_model for a model of another kind */
export const findModel = (
  engines: EngineView,
  id: string,
  kind: CatalogueEntry['kind'],
): NonNullable<ReturnType<EngineView['find']>> => {
  const found = engines.find(id)
  if (found === undefined) throw createMissingModelError(id)
  if (found.entry.kind !== kind)
    throw new ShoalError('invalid_model', `${id} is not a model of kind ${kind}`, {
      param: 'model',
    })
  return found
}

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
