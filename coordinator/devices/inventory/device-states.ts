import type {
  DeviceProfileFacts,
  DeviceState,
  PropertyFacts,
  PropertyValue,
} from '../../../shared/wire/device.ts'
import type { Budget, Share } from '../../kernel/budgets/budget.ts'

/** A reading of a device. Times are unix milliseconds by the clock of the coordinator. */
export interface Reading {
  value: PropertyValue
  at: number
  /** True when it is older than its property allows. */
  isStale: boolean
}

/** Newest readings of a device. */
export interface DeviceReadings {
  /** Time of the newest sign of life; undefined before the first. */
  seenAt: number | undefined
  readings: ReadonlyMap<string, Reading>
}

/** A state with the lead of the cell's clock when it arrived. */
interface HeldState {
  state: DeviceState
  clockAheadMs: number
  bytes: number
}

/** States of one cell by device, and its share of the budget. */
interface HeldCell {
  states: Map<string, HeldState>
  share: Share
}

/** Newest states of the devices, as the cells that are connected to this coordinator report them. */
export class DeviceStates {
  readonly #budget: Budget<'cell'>
  readonly #byCell = new Map<string, HeldCell>()

  constructor(budget: Budget<'cell'>) {
    this.#budget = budget
  }

  /** Takes states of devices that the cell announces; others are dropped. */
  put(
    cellId: string,
    states: readonly DeviceState[],
    { clockAheadMs, announced }: { clockAheadMs: number; announced: ReadonlySet<string> },
  ): void {
    const cell = this.#byCell.get(cellId) ?? {
      states: new Map(),
      share: this.#budget.open({ cell: cellId }),
    }
    this.#byCell.set(cellId, cell)
    for (const state of states)
      if (announced.has(state.device_id)) replaceState(cell, { state, clockAheadMs })
    this.#drop(cellId, cell)
  }

  /** Drops the states of devices that a cell announces no more. */
  keep(cellId: string, announced: ReadonlySet<string>): void {
    const cell = this.#byCell.get(cellId)
    if (cell === undefined) return
    for (const id of [...cell.states.keys()]) if (!announced.has(id)) removeState(cell, id)
    this.#drop(cellId, cell)
  }

  forget(cellId: string): void {
    this.keep(cellId, new Set())
  }

  #drop(cellId: string, { states }: HeldCell): void {
    if (states.size === 0) this.#byCell.delete(cellId)
  }

  /** Readings of the properties that the profile has; undefined before the first state. */
  read(
    cellId: string,
    deviceId: string,
    { profile, now }: { profile: DeviceProfileFacts | undefined; now: number },
  ): DeviceReadings | undefined {
    const held = this.#byCell.get(cellId)?.states.get(deviceId)
    if (held === undefined) return undefined
    const { state, clockAheadMs } = held
    const readings = Object.entries(profile?.properties ?? {}).flatMap(
      ([name, facts]): [string, Reading][] => {
        const reading = Object.hasOwn(state.readings, name) ? state.readings[name] : undefined
        if (reading === undefined) return []
        return [[name, toReading(reading, facts, { clockAheadMs, now })]]
      },
    )
    return {
      seenAt: state.seen_at === null ? undefined : toOwnTime(state.seen_at, { clockAheadMs, now }),
      readings: new Map(readings),
    }
  }
}

/** A state for which there is no room is dropped with the earlier one, which is not true any more. */
const replaceState = (cell: HeldCell, received: Omit<HeldState, 'bytes'>): void => {
  const { device_id } = received.state
  removeState(cell, device_id)
  const bytes = Buffer.byteLength(JSON.stringify(received.state))
  if (cell.share.take(bytes)) cell.states.set(device_id, { ...received, bytes })
}

const removeState = ({ states, share }: HeldCell, deviceId: string): void => {
  share.give(states.get(deviceId)?.bytes ?? 0)
  states.delete(deviceId)
}

const toReading = (
  reading: DeviceState['readings'][string],
  { stale_after_ms }: PropertyFacts,
  { clockAheadMs, now }: { clockAheadMs: number; now: number },
): Reading => {
  const at = toOwnTime(reading.at, { clockAheadMs, now })
  return { value: reading.value, at, isStale: now - at > stale_after_ms }
}

/** Time by the clock of the coordinator; a cell may claim one that no calendar has. */
const toOwnTime = (
  at: number,
  { clockAheadMs, now }: { clockAheadMs: number; now: number },
): number => Math.max(0, Math.min(now, at - clockAheadMs))
