import { countMatchingRows } from '../store/count.ts'
import type { Records } from '../store/store.ts'

/** Counts the items completed within the last hour, in steps of a minute. */
interface Throughput {
  /** Counts items completed at `at`, in Unix milliseconds. */
  count(at: number, items?: number): void
  lastHour(): number
}

const MINUTE_MS = 60_000
const MINUTES = 60

export const createThroughput = (now: () => number): Throughput => {
  const slots = Array.from({ length: MINUTES }, () => ({ minute: -1, items: 0 }))
  const minuteOf = (at: number): number => Math.floor(at / MINUTE_MS)

  const count: Throughput['count'] = (at, items = 1) => {
    const minute = minuteOf(at)
    const slot = slots[minute % MINUTES]
    if (slot === undefined || minute < slot.minute) return
    if (slot.minute !== minute) Object.assign(slot, { minute, items: 0 })
    slot.items += items
  }
  const lastHour = (): number => {
    const newest = minuteOf(now())
    return slots
      .filter(({ minute }) => minute > newest - MINUTES && minute <= newest)
      .reduce((total, { items }) => total + items, 0)
  }
  return { count, lastHour }
}

/** Restores the counts of requests completed before a restart. */
export const recallThroughput = async (
  records: Pick<Records, 'read'>,
  throughput: Throughput,
  now: number,
): Promise<void> => {
  for (let minute = 0; minute < MINUTES; minute++) {
    const to = now - minute * MINUTE_MS
    const completed = records.read
      .selectFrom('usage')
      .where('status', '=', 'ok')
      .where('at', '>', to - MINUTE_MS)
      .where('at', '<=', to)
    throughput.count(to, await countMatchingRows(completed))
  }
}
