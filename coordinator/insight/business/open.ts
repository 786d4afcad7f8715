import type { Logger } from 'pino'
import energyPrice from '../../../discovery/modules/environment/energy-price.ts'
import { type Runtime, timeoutSignal } from '../../../shared/runtime.ts'
import type { Lookups } from '../../discovery/modules/lookups.ts'
import type { BusinessConfig } from './business-config.ts'
import { type EnergyPrice, priceOfData } from './energy.ts'

/** Time for a price, which is one figure of an answer. */
const PRICE_TIMEOUT_MS = 10_000

export interface BusinessViews {
  /** Price of electricity; undefined where neither the configuration nor its zone has one. */
  energyPrice: (signal: AbortSignal) => Promise<EnergyPrice | undefined>
}

interface BusinessParts {
  config: { business: BusinessConfig }
  runtime: Runtime
  logger: Pick<Logger, 'warn'>
  views: { lookups: Pick<Lookups, 'run'> }
}

/** Facts that business skills need beside records, usage and series. */
export const openBusiness = ({
  config: { business },
  runtime,
  logger,
  views: { lookups },
}: BusinessParts): { views: BusinessViews } => {
  const { energy_price_eur_per_kwh: configured, energy_price_zone: zone } = business
  // the zone is the operator's: what others look up elsewhere changes no costs
  const readZone = async (signal: AbortSignal): Promise<EnergyPrice | undefined> => {
    if (zone === undefined) return undefined
    try {
      const module = { ...energyPrice, domain: 'environment' } as const
      const ends = AbortSignal.any([signal, timeoutSignal(runtime, PRICE_TIMEOUT_MS)])
      const { data, takenAt } = await lookups.run(module, energyPrice.input.parse({ zone }), ends)
      const eurPerKwh = priceOfData(data)
      return eurPerKwh === undefined ? undefined : { eurPerKwh, source: 'energy-price', takenAt }
    } catch (error) {
      logger.warn({ err: error, zone }, 'the price of electricity is unknown')
      return undefined
    }
  }
  return {
    views: {
      energyPrice: async signal =>
        configured === undefined
          ? readZone(signal)
          : { eurPerKwh: configured, source: 'configuration' },
    },
  }
}
