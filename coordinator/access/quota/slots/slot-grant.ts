/* Limits over several coordinators: any 60 seconds, counted in slots of the store's clock. */

export const SLOT_MS = 6000
const WINDOW_MS = 60_000

/** Slots that 60 s can touch: nine or ten whole ones, and a part at either end. */
export const WINDOW_SLOTS = WINDOW_MS / SLOT_MS + 1

/** Time after which no start counts of a coordinator that was granted nothing since: a slot more. */
export const COUNTED_MS = (WINDOW_SLOTS + 2) * SLOT_MS

/** A grant this close to the end of a slot is counted in the next one, so that it lasts a while. */
const LEAST_GRANT_MS = 2000

/** Number of the slot of an instant, unix milliseconds. */
export const slotAt = (ms: number): number => Math.floor(ms / SLOT_MS)

/** First instant after a slot, unix milliseconds. */
export const slotEndMs = (slot: number): number => (slot + 1) * SLOT_MS

/** Requests that were started in a slot, or may still be. */
export interface SlotCount {
  slot: number
  starts: number
}

export interface ReplicaSlotCount extends SlotCount {
  replica: string
}

/** Starts that a coordinator wants, and those that it has made. */
export interface SlotWish {
  subject: string
  limit: number
  /** Further starts; 0 only corrects the counts of before. */
  wanted: number
  /** Right counts of this coordinator; those in the store are replaced by them. */
  own: readonly SlotCount[]
}

export interface SlotGrant {
  granted: number
  /** Slot in which the grant is counted; it must be spent before the end of that slot. */
  slot: number
  /** Count of this coordinator in that slot, the grant included. */
  starts: number
  /** Counts of the other coordinators, each of at most one slot. */
  others: readonly SlotCount[]
}

interface GrantBase {
  /** Id of this coordinator. */
  replica: string
  /** Unix milliseconds by the clock of the store. */
  nowMs: number
  windowSlots?: number
}

/**
 * Grants as many starts as the limit has room for. A start never comes after the slot in which it is
 * counted, and is counted for as long as any 60 s that contain it: therefore no 60 s have more
 * starts than the limit, if grants of one subject are made one after another.
 */
export const grantStarts = (
  { limit, wanted, own }: SlotWish,
  rows: readonly ReplicaSlotCount[],
  { replica, nowMs, windowSlots = WINDOW_SLOTS }: GrantBase,
): { grant: SlotGrant; changes: SlotCount[] } => {
  const oldest = slotAt(nowMs) - windowSlots + 1
  const counted = rows.filter(row => row.slot >= oldest)
  const others = counted.filter(row => row.replica !== replica)
  const stored = countsBySlot(counted.filter(row => row.replica === replica))
  const mine = new Map([...stored, ...countsBySlot(own.filter(({ slot }) => slot >= oldest))])
  const room = limit - sumOf(others.map(({ starts }) => starts)) - sumOf(mine.values())
  const granted = Math.max(0, Math.min(wanted, room))
  const slot = slotAt(nowMs + LEAST_GRANT_MS)
  const starts = (mine.get(slot) ?? 0) + granted
  if (granted > 0) mine.set(slot, starts)
  const changes = [...mine]
    .filter(([at, count]) => stored.get(at) !== count)
    .map(([at, count]) => ({ slot: at, starts: count }))
  return { grant: { granted, slot, starts, others }, changes }
}

const countsBySlot = (counts: readonly SlotCount[]): Map<number, number> =>
  new Map(counts.map(({ slot, starts }) => [slot, starts]))

const sumOf = (numbers: Iterable<number>): number => {
  let sum = 0
  for (const number of numbers) sum += number
  return sum
}
