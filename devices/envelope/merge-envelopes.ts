import { canonicalJson } from '../../shared/canonical-json.ts'
import {
  EnvelopeSource,
  type Geofence,
  type SafetyEnvelope,
  type TimeWindow,
} from '../../shared/wire/safety-envelope.ts'

/** A limit and the source that sets it. */
export interface Bound<T> {
  value: T
  source: EnvelopeSource
}

/** Direction in which each number restricts more. */
const STRICTER = {
  max_speed_m_s: Math.min,
  max_acceleration_m_s2: Math.min,
  min_battery_to_start_percent: Math.max,
  min_battery_to_continue_percent: Math.max,
  min_battery_to_start_volts: Math.max,
  min_battery_to_continue_volts: Math.max,
  max_state_age_ms: Math.min,
  min_link_quality_percent: Math.max,
  min_separation_m: Math.max,
  max_commands_per_minute: Math.min,
} as const

type NumberKey = keyof typeof STRICTER
const NUMBER_KEYS = Object.keys(STRICTER) as NumberKey[]

/** Limits of several sources, each with the source that sets it. */
export type MergedEnvelope = Partial<Record<NumberKey, Bound<number>>> & {
  /** All of them must hold. */
  geofences: readonly Bound<Geofence>[]
  /** One window of each list must be open. */
  time_windows: readonly Bound<TimeWindow[]>[]
}

export interface SourcedEnvelope {
  source: EnvelopeSource
  envelope: SafetyEnvelope
}

/**
 * Merges limits to the most restrictive. The order of the sources does not matter: of equal limits
 * the one of the widest source counts.
 */
export const mergeEnvelopes = (sources: readonly SourcedEnvelope[]): MergedEnvelope => {
  const widestFirst = sources.toSorted((a, b) => rankSource(a.source) - rankSource(b.source))
  return {
    ...Object.fromEntries(NUMBER_KEYS.flatMap(key => mergeNumber(key, widestFirst))),
    geofences: mergeLists(widestFirst, ({ geofences }) => geofences),
    time_windows: mergeLists(widestFirst, ({ time_windows }) => time_windows),
  }
}

const rankSource = (source: EnvelopeSource): number => EnvelopeSource.options.indexOf(source)

const mergeNumber = (
  key: NumberKey,
  sources: readonly SourcedEnvelope[],
): [NumberKey, Bound<number>][] => {
  const bounds = sources.flatMap(({ source, envelope }) => {
    const value = envelope[key]
    return value === undefined ? [] : [{ value, source }]
  })
  if (bounds.length === 0) return []
  const strictest = STRICTER[key](...bounds.map(({ value }) => value))
  return bounds
    .filter(({ value }) => value === strictest)
    .slice(0, 1)
    .map(one => [key, one])
}

/** Each different item once, in an order that depends on nothing but the items. */
const mergeLists = <T>(
  sources: readonly SourcedEnvelope[],
  pick: (envelope: SafetyEnvelope) => readonly T[] | undefined,
): Bound<T>[] => {
  const byText = new Map<string, Bound<T>>()
  for (const { source, envelope } of sources)
    for (const value of pick(envelope) ?? []) {
      const text = canonicalJson(value)
      if (!byText.has(text)) byText.set(text, { value, source })
    }
  return [...byText].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, bound]) => bound)
}

/** The merged limits without their sources; equal limits give equal canonical JSON. */
export const toSafetyEnvelope = ({
  geofences,
  time_windows,
  ...numbers
}: MergedEnvelope): SafetyEnvelope => ({
  ...Object.fromEntries(
    NUMBER_KEYS.flatMap(key => {
      const bound = numbers[key]
      return bound === undefined ? [] : [[key, bound.value]]
    }),
  ),
  ...(geofences.length > 0 && { geofences: geofences.map(({ value }) => value) }),
  ...(time_windows.length > 0 && { time_windows: time_windows.map(({ value }) => value) }),
})

/** Limits of a verb that no limit of place, battery or connection may hold up. */
export const dropPlaceLimits = (envelope: MergedEnvelope): MergedEnvelope => {
  const { time_windows, max_commands_per_minute, max_state_age_ms } = envelope
  return {
    geofences: [],
    time_windows,
    ...(max_commands_per_minute && { max_commands_per_minute }),
    ...(max_state_age_ms && { max_state_age_ms }),
  }
}
