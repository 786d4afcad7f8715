import fc from 'fast-check'
import t from 'tap'
import {
  mergeEnvelopes,
  type SourcedEnvelope,
  toSafetyEnvelope,
} from '../../../devices/envelope/merge-envelopes.ts'
import { mergeSharedEnvelopes } from '../../../devices/envelope/merge-shared-envelopes.ts'
import { canonicalHash } from '../../../shared/canonical-hash.ts'
import {
  EnvelopeSource,
  MergedSafetyEnvelope,
  type SafetyEnvelope,
} from '../../../shared/wire/safety-envelope.ts'
import { envelopes } from '../../support/envelopes.ts'

const sourced: fc.Arbitrary<SourcedEnvelope> = fc.record({
  source: fc.constantFrom(...EnvelopeSource.options),
  envelope: envelopes,
})
const sources = fc.array(sourced, { maxLength: 6 })

const mergeHash = (given: readonly SourcedEnvelope[]): string =>
  canonicalHash(mergeEnvelopes(given))

t.test('merging depends neither on the order of sources nor on repetition', t => {
  fc.assert(
    fc.property(sources, given => {
      const hash = mergeHash(given)
      return hash === mergeHash(given.toReversed()) && hash === mergeHash([...given, ...given])
    }),
  )
  fc.assert(
    fc.property(sources, sources, (one, other) => {
      const merged = toSafetyEnvelope(mergeEnvelopes([...one, ...other]))
      const parts = [one, other].map(given => toSafetyEnvelope(mergeEnvelopes(given)))
      const again = mergeEnvelopes(parts.map(envelope => ({ source: 'fleet', envelope })))
      return canonicalHash(merged) === canonicalHash(toSafetyEnvelope(again))
    }),
  )
  t.end()
})

/** True when whatever `merged` allows is allowed by `source`, too. */
const isAtLeastAsStrict = (merged: SafetyEnvelope, source: SafetyEnvelope): boolean => {
  const lowest = Number.NEGATIVE_INFINITY
  const hasAll = (key: 'geofences' | 'time_windows') =>
    (source[key] ?? []).every(item =>
      (merged[key] ?? []).some(one => canonicalHash(one) === canonicalHash(item)),
    )
  const highest = ['max_speed_m_s', 'max_acceleration_m_s2', 'max_state_age_ms'] as const
  const least = ['min_battery_to_start_percent', 'min_battery_to_continue_percent'] as const
  return (
    [...highest, 'max_commands_per_minute' as const].every(
      key => (merged[key] ?? Number.POSITIVE_INFINITY) <= (source[key] ?? Number.POSITIVE_INFINITY),
    ) &&
    [...least, 'min_link_quality_percent' as const, 'min_separation_m' as const].every(
      key => (merged[key] ?? lowest) >= (source[key] ?? lowest),
    ) &&
    hasAll('geofences') &&
    hasAll('time_windows')
  )
}

t.test('merged limits are never less restrictive than those of any source', t => {
  fc.assert(
    fc.property(sources, given => {
      const merged = MergedSafetyEnvelope.parse(toSafetyEnvelope(mergeEnvelopes(given)))
      return given.every(({ envelope }) => isAtLeastAsStrict(merged, envelope))
    }),
  )
  t.end()
})

t.test('each merged limit names the source that sets it', t => {
  fc.assert(
    fc.property(sources, given => {
      const { max_speed_m_s: speed, geofences } = mergeEnvelopes(given)
      const sets = (source: EnvelopeSource, isIt: (envelope: SafetyEnvelope) => boolean) =>
        given.some(one => one.source === source && isIt(one.envelope))
      return (
        (speed === undefined || sets(speed.source, one => one.max_speed_m_s === speed.value)) &&
        geofences.every(({ source, value }) =>
          sets(source, one => (one.geofences ?? []).includes(value)),
        )
      )
    }),
  )
  t.end()
})

t.test('limits of several documents only become stricter, for each site', t => {
  const merged = mergeSharedEnvelopes([
    { fleet: { max_speed_m_s: 1 }, sites: { hall: { max_speed_m_s: 3 } } },
    { fleet: { max_speed_m_s: 2 }, sites: { yard: { min_separation_m: 1 } } },
    { sites: { hall: { max_speed_m_s: 4, min_separation_m: 2 } } },
  ])
  t.strictSame(merged, {
    fleet: { max_speed_m_s: 1 },
    sites: { hall: { max_speed_m_s: 3, min_separation_m: 2 }, yard: { min_separation_m: 1 } },
  })
  t.strictSame(mergeSharedEnvelopes([]), {})
  t.end()
})
