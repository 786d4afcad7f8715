import { countMatchingRows } from '../../kernel/store/count.ts'
import type { Records } from '../../kernel/store/store.ts'

/** Counts the items completed within the last hour, in steps of a minute. */
interface Throughput {
  /** Counts items completed at `at`, in Unix milliseconds. */
  count(at: number, items?: number): void
  /** Sets the items of the minute of `at`, unless more were counted. */
  raise(at: number, items: number): void
  lastHour(): number
}

const MINUTE_MS = 60_000
const MINUTES = 60

export const createThroughput = (now: () => number): Throughput => {
  const slots = Array.from({ length: MINUTES }, () => ({ minute: -1, items: 0 }))
  const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS)

  const slotOf = (at: number): { items: number } | undefined => {
    const minute = minuteOf(at)
    const slot = slots[minute % MINUTES]
    if (slot === undefined || minute < slot.minute) return undefined
    if (slot.minute !== minute) Object.assign(slot, { minute, items: 0 })
    return slot
  }
  const count: Throughput['count'] = (at, items = 1) => {
    const slot = slotOf(at)
    if (slot !== undefined) slot.items += items
  }
  const raise: Throughput['raise'] = (at, items) => {
    const slot = slotOf(at)
    if (slot !== undefined) slot.items = Math.max(slot.items, items)
  }
  const lastHour = (): number => {
    const newest = minuteOf(now())
    return slots
      .filter(({ minute }) => minute > newest - MINUTES && minute <= newest)
      .reduce((total, { items }) => total + items, 0)
  }
  return { count, raise, lastHour }
}

/** Takes the counts of the newest minutes from the usage of all coordinators. */
export const recallThroughput = async (
  records: Pick<Records, 'read'>,
  throughput: Throughput,
  now: number,
  minutes = MINUTES,
): Promise<void> => {
  const newest = now - (now % MINUTE_MS)
  for (let minute = 0; minute < minutes; minute++) {
    const from = newest - minute * MINUTE_MS
    const completed = records.read
      .selectFrom('usage')
      .where('status', '=', 'ok')
      .where('at', '>=', from)
      .where('at', '<', from + MINUTE_MS)
    throughput.raise(from, await countMatchingRows(completed))
  }
}
