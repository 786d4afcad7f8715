import {
  type Catalogue,
  type CatalogueEntry,
  TIER_NAMES,
  type TierName,
} from '../../../shared/catalogue.ts'

export const tierRank = (tier: TierName): number => TIER_NAMES.indexOf(tier)

/** The catalogue entries a tier may use, in the order of the catalogue. */
export const modelsOfTier = (catalogue: Catalogue, tier: TierName): CatalogueEntry[] =>
  catalogue.filter(entry => tierRank(entry.minimum_tier) <= tierRank(tier))
