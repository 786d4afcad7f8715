import * as z from 'zod'
import type { LookupContext } from '../../../lookup-run.ts'
import type { Zone } from '../../../modules/environment/energy-price.ts'
import energyCharts from '../../../upstreams/sources/energy-charts.ts'
import { dayOf, hourOf } from './market-day.ts'
import { type FoundPrices, type PriceWindow, selectPrices, slotsFromStarts } from './slot.ts'

const Prices = z.object({
  license_info: z.string().max(1000).nullish(),
  unix_seconds: z.array(z.number()).max(2000),
  price: z.array(z.number().nullable()).max(2000),
})

/** Hour of the day from which tomorrow's prices are published. */
const PUBLISHED_HOUR = 13

/** Prices of a zone (https://api.energy-charts.info). Its licence differs from zone to zone. */
export const askEnergyCharts = async (
  zone: Zone,
  window: PriceWindow,
  { ask, warn, now }: LookupContext,
): Promise<FoundPrices> => {
  const { timeZone, today, tomorrow } = window
  const last = hourOf(now(), timeZone) >= PUBLISHED_HOUR ? tomorrow : today
  const { body } = await ask({
    source: energyCharts,
    path: '/price',
    query: { bzn: zone, start: dayOf(today, timeZone), end: dayOf(last, timeZone) },
    form: 'json',
  })
  const { license_info, unix_seconds, price } = Prices.parse(body)
  const licence = license_info ?? 'unknown'
  if (!licence.includes('CC BY'))
    warn('licence_restricted', `licence of these prices: ${licence}`, energyCharts.name)
  const starts = unix_seconds.map(seconds => seconds * 1000)
  return selectPrices(energyCharts, slotsFromStarts(starts, price), window)
}
