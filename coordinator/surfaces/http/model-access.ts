import {
  AUTO_MODEL,
  type Catalogue,
  type CatalogueEntry,
  type TierName,
} from '../../../shared/catalogue.ts'
import { createMissingModelError } from '../../../shared/catalogue-errors.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { tierRank } from '../../access/quota/tier-models.ts'

/**
 * Entry of the requested model. Throws `model_not_found`, and `invalid_model` when the tier may not
 * use it, or not this way.
 */
export const requireModel = (
  catalogue: Catalogue,
  id: string,
  kind: CatalogueEntry['kind'],
  tier: TierName,
): CatalogueEntry => {
  const entry = catalogue.find(model => model.id === id)
  if (entry === undefined && id === AUTO_MODEL)
    throw createInvalidModelError(
      `${AUTO_MODEL} is only available for chat completions and responses`,
    )
  if (entry === undefined) throw createMissingModelError(id)
  if (tierRank(entry.minimum_tier) > tierRank(tier))
    throw createInvalidModelError(
      `model ${JSON.stringify(id)} is not available on tier ${tier}; GET /v1/models lists the available models`,
    )
  if (entry.kind !== kind)
    throw createInvalidModelError(`model ${id} is of kind ${entry.kind}, not ${kind}`)
  return entry
}

const createInvalidModelError = (message: string): ShoalError =>
  new ShoalError('invalid_model', message, { param: 'model' })
