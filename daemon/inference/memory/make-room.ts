import type { Logger } from 'pino'
import { formatBytes } from '../../../shared/print-number.ts'
import type { Clock } from '../clock.ts'
import type { RoomSeeker } from '../engine-options.ts'
import type { Leftovers } from '../leftovers.ts'
import { NoRoom } from './no-room.ts'
import { planRoom, type Resident, type RoomPlan } from './plan-room.ts'
import type { MemoryReading, ReadMemory } from './read-memory.ts'

/** Memory of an engine. */
interface RoomHolder {
  name: string
  pid: number | undefined
  /** Memory of the engine; undefined when it has none. */
  resident: Omit<Resident, 'seenBytes'> | undefined
  unload(): void
}

interface MakeRoomParts {
  clock: Clock
  logger: Logger
  readMemory: ReadMemory
  leftovers: Pick<Leftovers, 'waitForNone' | 'quietMs'>
  engines: readonly RoomHolder[]
  device: 'gpu' | 'host'
  limitPercent: number
}

/** Age at which a memory sample no longer includes a process that has ended. */
const SETTLE_MS = 15_000
const LOOK_MS = 1000

/**
 * Finds memory for an engine, and ends others for it when it may. Memory that is not known is not
 * refused.
 *
 * @throws NoRoom
 */
export const makeRoom = async (seeker: RoomSeeker, parts: MakeRoomParts): Promise<void> => {
  const { leftovers, clock, logger } = parts
  const startedAt = clock.now()
  for (;;) {
    const memory = await parts.readMemory(parts.device, pidsOf(others(seeker, parts)))
    // nothing is awaited between the plan and the promise: two engines never get the same memory
    const { plan, holders } = planFor(seeker, parts, memory)
    if (seeker.signal.aborted) return
    const waits = clock.now() - startedAt < SETTLE_MS && isOlder(memory, startedAt)
    if (waits && hasToEnd(plan)) {
      // Measured again, because the state may have changed while waiting
      await look(clock)
      continue
    }
    if (plan === undefined || plan.fits) {
      seeker.promise()
      const ending = holders.filter(({ name }) => plan?.evict.includes(name))
      for (const holder of ending) {
        logger.info({ engine: holder.name, wanted: seeker.name }, 'engine ended to make room')
        holder.unload()
      }
      await Promise.all(ending.map(({ name }) => leftovers.waitForNone(name)))
      return
    }
    if (!plan.ever || leftovers.quietMs > SETTLE_MS) throw noRoom(seeker, plan, memory, holders)
    await look(clock)
  }
}

const look = (clock: Clock): Promise<void> =>
  new Promise(resolve => {
    clock.callAfter(LOOK_MS, resolve)
  })

const isOlder = (memory: MemoryReading | undefined, at: number): boolean =>
  memory?.takenAt !== undefined && memory.takenAt < at

/** True when the engine fits, or may fit, only after other engines end. */
const hasToEnd = (plan: RoomPlan | undefined): boolean =>
  plan !== undefined && (plan.fits ? plan.evict.length > 0 : plan.ever)

const others = ({ name }: RoomSeeker, { engines }: MakeRoomParts): readonly RoomHolder[] =>
  engines.filter(engine => engine.name !== name)

const pidsOf = (engines: readonly RoomHolder[]): number[] => engines.flatMap(({ pid }) => pid ?? [])

const planFor = (seeker: RoomSeeker, parts: MakeRoomParts, memory: MemoryReading | undefined) => {
  const { limitPercent } = parts
  const holders = others(seeker, parts).filter(({ resident }) => resident !== undefined)
  const residents = holders.map(({ pid, resident }) => {
    const held = resident as Omit<Resident, 'seenBytes'>
    const seenBytes = pid === undefined ? 0 : memory?.seenBytes(pid)
    return { ...held, seenBytes: isShown(held, memory) ? held.needBytes : seenBytes }
  })
  const plan = memory && planRoom({ ...seeker, limitPercent, memory, residents })
  return { plan, holders }
}

/**
 * True when the sample includes an engine's memory. What was loaded on a GPU before the sample is
 * in its sum, whatever its list of processes says: that list is older, and some drivers have none.
 * Weights in host memory are never visible.
 */
const isShown = (
  { readyAt }: Omit<Resident, 'seenBytes'>,
  memory: MemoryReading | undefined,
): boolean =>
  memory?.kind === 'gpu' &&
  readyAt !== undefined &&
  memory.takenAt !== undefined &&
  readyAt < memory.takenAt

const noRoom = (
  { needBytes }: RoomSeeker,
  { ever, freeBytes }: Extract<RoomPlan, { fits: false }>,
  memory: MemoryReading | undefined,
  holders: readonly RoomHolder[],
): NoRoom => {
  const where = memory?.kind === 'gpu' ? 'GPU memory' : 'memory'
  const needs = `it needs ${formatBytes(needBytes)} of ${where}`
  if (!ever) return new NoRoom(`${needs}; ${formatBytes(freeBytes)} may be used at all`, false)
  const held = holders.filter(({ resident }) => resident?.busy || resident?.pinned).length
  const who = held === 0 ? '' : `, and ${held} other models are in use or pinned`
  return new NoRoom(`${needs}; ${formatBytes(freeBytes)} are free${who}`, true)
}
