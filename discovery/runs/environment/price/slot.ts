import { UpstreamError } from '../../../upstreams/client.ts'
import type { Source } from '../../../upstreams/source.ts'

/** Price of a span, EUR/MWh; null while there is none. Times are Unix milliseconds. */
export interface Slot {
  start: number
  end: number
  price: number | null
}

/** Days that are asked for, of the zone's own clock, Unix milliseconds. */
export interface PriceWindow {
  today: number
  tomorrow: number
  end: number
  timeZone: string
}

/** Answer of a source, with how many of its prices were missing. */
export interface FoundPrices {
  slots: (Slot & { price: number })[]
  missing: number
}

const HOUR_MS = 3_600_000

/** Slots from their starts: each ends where the next begins, the last one after the same time. */
export const slotsFromStarts = (
  starts: readonly number[],
  prices: readonly (number | null)[],
): Slot[] => {
  const last = starts.length - 1
  const lastStep = last > 0 ? (starts[last] ?? 0) - (starts[last - 1] ?? 0) : HOUR_MS
  return starts.map((start, index) => ({
    start,
    end: starts[index + 1] ?? start + lastStep,
    price: prices[index] ?? null,
  }))
}

/** Leaves out what has no price, and what is outside the window. @throws UpstreamError without any */
export const selectPrices = (
  { id }: Pick<Source, 'id'>,
  slots: readonly Slot[],
  { today, end }: PriceWindow,
): FoundPrices => {
  const inside = slots.filter(
    slot => slot.start >= today && slot.end <= end && slot.start < slot.end,
  )
  const found = inside.filter((slot): slot is Slot & { price: number } => slot.price !== null)
  if (found.length === 0) throw new UpstreamError(id, 'not_found', 'it has no prices of these days')
  return { slots: found, missing: inside.length - found.length }
}
