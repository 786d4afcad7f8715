import type { Interlock } from '../profile.ts'
import { type Finding, judge, roundReading } from './finding.ts'
import type { Bound, MergedEnvelope } from './merge-envelopes.ts'
import { ageOf, type DeviceSnapshot, hasProperty, readFresh, readFreshNumber } from './snapshot.ts'

/** Checks the age of the newest sign of life. */
export const checkStateAge = (
  { value: limit, source }: Bound<number>,
  { state }: DeviceSnapshot,
  now: number,
): Finding => {
  const age = ageOf(state?.seen_at, now)
  return {
    name: 'state_age_ms',
    observed: age ?? null,
    limit,
    source,
    verdict: judge(age, value => value <= limit),
  }
}

/** Checks a number that the device reports; a device that does not report it has none. */
export const checkLeast = (
  name: string,
  { value: limit, source }: Bound<number>,
  self: DeviceSnapshot,
  now: number,
): Finding[] => {
  if (!hasProperty(self, name)) return []
  const value = readFreshNumber(self, name, now)
  return [
    {
      name,
      observed: value === undefined ? null : roundReading(value),
      limit,
      source,
      verdict: judge(value, one => one >= limit),
    },
  ]
}

/** Checks the battery; before a verb begins, what would end it counts, too. */
export const checkBattery = (
  envelope: MergedEnvelope,
  self: DeviceSnapshot,
  now: number,
  isStart: boolean,
): Finding[] =>
  (['percent', 'volts'] as const).flatMap(unit => {
    const proceed = envelope[`min_battery_to_continue_${unit}`]
    const start = isStart ? envelope[`min_battery_to_start_${unit}`] : undefined
    const isStricter =
      start !== undefined && !(proceed !== undefined && proceed.value > start.value)
    const limit = isStricter ? start : proceed
    return limit === undefined ? [] : checkLeast(`battery_${unit}`, limit, self, now)
  })

/** Checks the conditions of a verb on its device. */
export const checkInterlock = (
  { name, property, allowed, refused, min, max }: Interlock,
  self: DeviceSnapshot,
  now: number,
): Finding => {
  const value = readFresh(self, property, now)
  const hasRange = min !== undefined || max !== undefined
  const isInRange = (one: unknown) =>
    typeof one === 'number' && one >= (min ?? -Infinity) && one <= (max ?? Infinity)
  const isAllowed =
    (allowed?.includes(value ?? null) ?? true) &&
    !refused?.includes(value ?? null) &&
    (!hasRange || isInRange(value))
  const isOptional = refused !== undefined && allowed === undefined && !hasRange
  return {
    name,
    observed: value ?? null,
    limit: {
      property,
      ...(allowed && { allowed: [...allowed] }),
      ...(refused && { refused: [...refused] }),
      ...(min !== undefined && { min }),
      ...(max !== undefined && { max }),
    },
    source: 'verb',
    verdict: value === undefined && !isOptional ? 'unknown' : isAllowed ? 'holds' : 'fails',
    doubt: `${property} is unknown or stale`,
  }
}
