import { ShoalError } from '../../../shared/errors.ts'
import { round } from '../../fields/round.ts'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import {
  type EnergyPrice,
  type PriceInput,
  type PriceSlot,
  ZONES,
  type Zone,
} from '../../modules/environment/energy-price.ts'
import awattar from '../../upstreams/sources/awattar.ts'
import awattarAt from '../../upstreams/sources/awattar-at.ts'
import energyCharts from '../../upstreams/sources/energy-charts.ts'
import entsoe from '../../upstreams/sources/entsoe.ts'
import smard from '../../upstreams/sources/smard.ts'
import { type SourceAttempt, trySources } from '../../upstreams/try-sources.ts'
import { askAwattar } from './price/awattar.ts'
import { findCheapest } from './price/cheapest.ts'
import { askEnergyCharts } from './price/energy-charts.ts'
import { askEntsoe, ENTSOE_AREAS } from './price/entsoe.ts'
import { windowOf } from './price/market-day.ts'
import type { FoundPrices, PriceWindow } from './price/slot.ts'
import { askSmard, SMARD_FILTERS } from './price/smard.ts'

/** Day-ahead prices, by the first source that has them for the zone. */
const run: LookupRun<PriceInput, EnergyPrice> = async (input, context) => {
  const zone = findZone(input.zone)
  const window = windowOf(zone, context.now())
  const found = await trySources(listAttempts(zone, window, context), context)
  if (found.missing > 0)
    context.warn('partial_result', `${found.missing} prices are unknown and omitted`)
  return describePrices(zone, found, window, context.now())
}

const findZone = (name: string): Zone => {
  const zone = ZONES.find(each => each === name)
  if (zone !== undefined) return zone
  const message = `${name.slice(0, 32)} is not a bidding zone; zones: ${ZONES.join(', ')}`
  throw new ShoalError('invalid_request', message, { param: 'zone' })
}

const listAttempts = (
  zone: Zone,
  window: PriceWindow,
  context: LookupContext,
): SourceAttempt<FoundPrices>[] => {
  const attempts: SourceAttempt<FoundPrices>[] = [
    { source: energyCharts, run: () => askEnergyCharts(zone, window, context) },
  ]
  const filter = SMARD_FILTERS[zone]
  if (filter !== undefined)
    attempts.push({ source: smard, run: () => askSmard(filter, window, context) })
  const market = { 'DE-LU': awattar, AT: awattarAt }[zone as string]
  if (market !== undefined)
    attempts.push({ source: market, run: () => askAwattar(market, window, context) })
  const area = ENTSOE_AREAS[zone]
  if (area !== undefined && context.settings.hasKey('entsoe'))
    attempts.push({ source: entsoe, run: () => askEntsoe(area, window, context) })
  return attempts
}

const MAX_SLOTS = 400
const RESOLUTIONS = [15, 30, 60] as const

const describePrices = (
  zone: Zone,
  { slots }: FoundPrices,
  { tomorrow }: PriceWindow,
  now: number,
): EnergyPrice => {
  const shown = slots.slice(0, MAX_SLOTS)
  const current = shown.find(({ start, end }) => start <= now && now < end)
  const [first] = shown
  const minutes = first === undefined ? 60 : (first.end - first.start) / 60_000
  return {
    zone,
    currency: 'EUR',
    resolution_minutes: RESOLUTIONS.find(each => each >= minutes) ?? 60,
    prices: shown.map(toPrice),
    current: current === undefined ? null : toPrice(current),
    stats: summarize(shown.map(({ price }) => price)),
    cheapest: findCheapest(shown, now),
    tomorrow_available: shown.some(({ start }) => start >= tomorrow),
    net_of: 'taxes_and_grid_fees',
  }
}

const toPrice = ({ start, end, price }: FoundPrices['slots'][number]): PriceSlot => ({
  start: new Date(start).toISOString(),
  end: new Date(end).toISOString(),
  eur_mwh: round(price, 2),
  ct_kwh: round(price / 10, 3),
})

const summarize = (prices: readonly number[]): EnergyPrice['stats'] =>
  prices.length === 0
    ? null
    : {
        min_eur_mwh: round(Math.min(...prices), 2),
        max_eur_mwh: round(Math.max(...prices), 2),
        mean_eur_mwh: round(prices.reduce((sum, price) => sum + price, 0) / prices.length, 2),
        negative_slots: prices.filter(price => price < 0).length,
      }

export default run
