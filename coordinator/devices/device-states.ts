import type {
  DeviceProfileFacts,
  DeviceState,
  PropertyFacts,
  PropertyValue,
} from '../../shared/wire/device.ts'

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
}

/**
 * Newest states of the devices, as the cells that are connected to this coordinator report them. A
 * cell fills no more memory than one packet: its next state of a device replaces the earlier one.
 */
export class DeviceStates {
  readonly #byCell = new Map<string, Map<string, HeldState>>()

  /** Takes states of devices that the cell announces; others are dropped. */
  put(
    cellId: string,
    states: readonly DeviceState[],
    { clockAheadMs, announced }: { clockAheadMs: number; announced: ReadonlySet<string> },
  ): void {
    const held = this.#byCell.get(cellId) ?? new Map<string, HeldState>()
    for (const state of states)
      if (announced.has(state.device_id)) held.set(state.device_id, { state, clockAheadMs })
    if (held.size > 0) this.#byCell.set(cellId, held)
  }

  /** Drops the states of devices that a cell announces no more. */
  keep(cellId: string, announced: ReadonlySet<string>): void {
    const held = this.#byCell.get(cellId)
    for (const id of held?.keys() ?? []) if (!announced.has(id)) held?.delete(id)
    if (held?.size === 0) this.#byCell.delete(cellId)
  }

  forget(cellId: string): void {
    this.#byCell.delete(cellId)
  }

  /** Readings of the properties that the profile has; undefined before the first state. */
  read(
    cellId: string,
    deviceId: string,
    { profile, now }: { profile: DeviceProfileFacts | undefined; now: number },
  ): DeviceReadings | undefined {
    const held = this.#byCell.get(cellId)?.get(deviceId)
    if (held === undefined) return undefined
    const { state, clockAheadMs } = held
    const readings = Object.entries(profile?.properties ?? {}).flatMap(
      ([name, facts]): [string, Reading][] => {
        const reading = state.readings[name]
        if (reading === undefined) return []
        return [[name, toReading(reading, facts, { clockAheadMs, now })]]
      },
    )
    return {
      seenAt: state.seen_at === null ? undefined : state.seen_at - clockAheadMs,
      readings: new Map(readings),
    }
  }
}

const toReading = (
  reading: DeviceState['readings'][string],
  { stale_after_ms }: PropertyFacts,
  { clockAheadMs, now }: { clockAheadMs: number; now: number },
): Reading => {
  const at = Math.min(now, reading.at - clockAheadMs)
  return { value: reading.value, at, isStale: now - at > stale_after_ms }
}
