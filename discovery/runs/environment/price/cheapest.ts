import { round } from '../../../fields/round.ts'
import type { EnergyPrice } from '../../../modules/environment/energy-price.ts'
import type { FoundPrices } from './slot.ts'

type Slots = FoundPrices['slots']

const HOUR_MS = 3_600_000
const WINDOWS_HOURS = [1, 3, 6]

/** Cheapest spans ahead, one of each length, without gaps; none where too few prices are left. */
export const findCheapest = (slots: Slots, now: number): EnergyPrice['cheapest'] => {
  const ahead = slots.filter(({ start }) => start >= now)
  return WINDOWS_HOURS.flatMap(hours => {
    const best = spansOf(ahead, hours * HOUR_MS).reduce<Span | undefined>(
      (low, span) => (low === undefined || span.mean < low.mean ? span : low),
      undefined,
    )
    if (best === undefined) return []
    return [
      {
        start: new Date(best.start).toISOString(),
        end: new Date(best.end).toISOString(),
        mean_eur_mwh: round(best.mean, 2),
        hours,
      },
    ]
  })
}

interface Span {
  start: number
  end: number
  mean: number
}

const spansOf = (slots: Slots, lengthMs: number): Span[] =>
  slots.flatMap(({ start }, index) => {
    const end = start + lengthMs
    const members = slots.slice(index).filter(slot => slot.end <= end)
    const coveredMs = members.reduce((sum, slot) => sum + slot.end - slot.start, 0)
    if (coveredMs !== lengthMs) return []
    const total = members.reduce((sum, slot) => sum + slot.price * (slot.end - slot.start), 0)
    return [{ start, end, mean: total / lengthMs }]
  })
