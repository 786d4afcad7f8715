import * as z from 'zod'
import type { Fleet } from '../fleet/fleet.ts'
import type { Monitor } from '../fleet/monitor.ts'
import { roundTo } from './money.ts'

interface EnergyParts {
  fleet: Pick<Fleet, 'cells'>
  monitor: Pick<Monitor, 'points'>
}

/** Energy of the GPUs of all cells since a time. */
interface MeasuredEnergy {
  /** Null where no cell has reported its power. */
  kwh: number | null
  /** Hours with a measurement, over all cells. */
  measuredHours: number
}

/** Adds up the mean power of every hour; hours without a measurement add nothing. */
export const measureEnergy = async (
  { fleet, monitor }: EnergyParts,
  since: number,
): Promise<MeasuredEnergy> => {
  let wattHours = 0
  let measuredHours = 0
  for (const { id } of [...fleet.cells()])
    for (const { value } of await monitor.points(id, 'gpu_power_watts', '1h', since))
      if (value !== null) {
        wattHours += value
        measuredHours++
      }
  return { kwh: measuredHours === 0 ? null : roundTo(wattHours / 1000, 3), measuredHours }
}

export interface EnergyPrice {
  eurPerKwh: number
  source: 'configuration' | 'energy-price'
  /** Time of the result, Unix milliseconds; undefined for the configuration. */
  takenAt?: number
}

/** Part of a result of the module energy-price. */
const PriceRow = z.object({
  data: z.object({ stats: z.object({ mean_eur_mwh: z.number() }).nullable() }),
})

/** Mean price of the last result of energy-price, net of taxes and grid fees. */
export const priceOfResult = (row: unknown): number | undefined => {
  const mean = PriceRow.safeParse(row).data?.data.stats?.mean_eur_mwh
  return mean === undefined ? undefined : mean / 1000
}
