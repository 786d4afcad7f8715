import {
  AUTO_MODEL,
  type Catalogue,
  type CatalogueEntry,
  type TierName,
} from '../../shared/catalogue.ts'
import { ShoalError } from '../../shared/errors.ts'
import { tierRank } from '../quota/tier-models.ts'

/**
 * Entry of the requested model, if the tier may use it this way. A model that does not exist and one
 * of a higher tier differ only in the message.
 */
export const requireModel = (
  catalogue: Catalogue,
  id: string,
  kind: CatalogueEntry['kind'],
  tier: TierName,
): CatalogueEntry => {
  const entry = catalogue.find(model => model.id === id)
  if (entry === undefined && id === AUTO_MODEL)
    throw new ShoalError(
      'invalid_model',
      `${AUTO_MODEL} is only available for chat completions and responses`,
      {
        param: 'model',
      },
    )
  if (entry === undefined || tierRank(entry.minimum_tier) > tierRank(tier)) {
    const why = entry === undefined ? 'does not exist' : `is not available on tier ${tier}`
    throw new ShoalError(
      'invalid_model',
      `model ${JSON.stringify(id)} ${why}; GET /v1/models lists the available models`,
      { param: 'model' },
    )
  }
  if (entry.kind !== kind)
    throw new ShoalError('invalid_model', `model ${id} is of kind ${entry.kind}, not ${kind}`, {
      param: 'model',
    })
  return entry
}
