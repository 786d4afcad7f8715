import * as z from 'zod'
import type { Monitor } from '../../fleet/alerts/monitor.ts'
import { roundTo } from './money.ts'

/** Energy of the GPUs of all cells since a time, also of cells that were revoked since. */
interface MeasuredEnergy {
  /** Null where no cell has reported its power. */
  kwh: number | null
  /** Hours with a measurement, over all cells. */
  measuredHours: number
}

/** Hours without a measurement add nothing. */
export const measureEnergy = async (
  { monitor }: { monitor: Pick<Monitor, 'energy'> },
  since: number,
): Promise<MeasuredEnergy> => {
  const { wattHours, cellHours } = await monitor.energy(since)
  return {
    kwh: cellHours === 0 ? null : roundTo(wattHours / 1000, 3),
    measuredHours: cellHours,
  }
}

export interface EnergyPrice {
  eurPerKwh: number
  source: 'configuration' | 'energy-price'
  /** Time of the result, Unix milliseconds; undefined for the configuration. */
  takenAt?: number
}

/** Part of the data of energy-price. */
const PriceData = z.object({ stats: z.object({ mean_eur_mwh: z.number() }).nullable() })

/** Mean price of a result of energy-price, net of taxes and grid fees. */
export const priceOfData = (data: unknown): number | undefined => {
  const mean = PriceData.safeParse(data).data?.stats?.mean_eur_mwh
  return mean === undefined ? undefined : mean / 1000
}
