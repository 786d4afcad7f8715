import fc from 'fast-check'
import type { EstopScope } from '../../../shared/wire/estop.ts'

/** What the disk of the latch does with the next write; it replaces a file as a whole. */
export type LatchMood = 'sound' | 'slow' | 'fails' | 'dies before' | 'dies after'

/** A step of a history that concerns e-stops. */
export type EstopStep =
  | { act: 'engage'; scope: EstopScope; which: number; deliver: boolean }
  | { act: 'engage here'; which: number }
  | { act: 'release'; which: number | 'all'; deliver: boolean }
  | { act: 'deliver'; which: number }
  | { act: 'forge'; how: 'key' | 'field' | 'cell' }
  | { act: 'disk'; mood: LatchMood }

/**
 * Delivery that mostly succeeds, because few stops are engaged and released between two crashes.
 */
const deliver = fc.integer({ min: 0, max: 3 }).map(draw => draw > 0)

export const estopStep: fc.Arbitrary<EstopStep> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      act: fc.constant('engage' as const),
      scope: fc.constantFrom<EstopScope>('all', 'site', 'cell', 'device', 'device'),
      which: fc.nat(7),
      deliver,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ act: fc.constant('engage here' as const), which: fc.nat(7) }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      act: fc.constant('release' as const),
      which: fc.oneof(fc.nat(3), fc.constant('all' as const)),
      deliver,
    }),
  },
  { weight: 4, arbitrary: fc.record({ act: fc.constant('deliver' as const), which: fc.nat(7) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('forge' as const),
      how: fc.constantFrom('key' as const, 'field' as const, 'cell' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      act: fc.constant('disk' as const),
      mood: fc.constantFrom<LatchMood>('slow', 'fails', 'dies before', 'dies after'),
    }),
  },
)
