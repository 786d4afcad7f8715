import type { ModuleResults } from '../../discovery/modules/module-results.ts'
import type { BusinessConfig } from './business-config.ts'
import { type EnergyPrice, priceOfResult } from './energy.ts'

export interface BusinessViews {
  /** Price of electricity; undefined where neither the configuration nor a result has one. */
  energyPrice: () => Promise<EnergyPrice | undefined>
}

interface BusinessParts {
  config: { business: BusinessConfig }
  views: { moduleResults: Pick<ModuleResults, 'readLast'> }
}

/** Facts that business skills need beside records, usage and series. */
export const openBusiness = ({
  config: { business },
  views: { moduleResults },
}: BusinessParts): { views: BusinessViews } => ({
  views: {
    energyPrice: async () => {
      const configured = business.energy_price_eur_per_kwh
      if (configured !== undefined) return { eurPerKwh: configured, source: 'configuration' }
      const [last] = await moduleResults.readLast('energy-price', undefined)
      const eurPerKwh = priceOfResult(last?.rows[0])
      return eurPerKwh === undefined || last === undefined
        ? undefined
        : { eurPerKwh, source: 'energy-price', takenAt: last.takenAt }
    },
  },
})
