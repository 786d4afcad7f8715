import fc from 'fast-check'
import type { Hazard } from '../../../shared/wire/command.ts'
import { type EstopStep, estopStep } from './estop-steps.ts'

/** What the disk does with one of the next writes. */
export type DiskMood = 'sound' | 'slow' | 'fails' | 'dies before' | 'dies half way' | 'dies after'

/** None is the cell itself. */
export type HistoryDevice = 'none' | 'arm' | 'rover'
/** What an unsafe command comes with; only the right approval lets it run. */
export type HistoryApproval = 'right' | 'of another gate' | 'of another plan' | 'none'
export type VerbMood = 'quick' | 'slow' | 'dies' | 'throws' | 'hangs'

export type HistoryStep =
  | {
      do: 'issue'
      hazard: Hazard
      device: HistoryDevice
      approval: HistoryApproval
      lifeMs: number
      deliver: boolean
    }
  | { do: 'reuse'; which: number }
  | { do: 'stop'; device: HistoryDevice }
  | { do: 'deliver'; which: number }
  | { do: 'forge'; which: number; how: 'field' | 'key' | 'cell' | 'none' }
  | { do: 'crash' }
  | { do: 'pass'; ms: number }
  | { do: 'step clock'; ms: number }
  | { do: 'ask'; outMs: number; backMs: number }
  | { do: 'disk'; mood: DiskMood; after: number }
  | { do: 'verb'; mood: VerbMood }
  | { do: 'estop'; step: EstopStep }

const moment = fc.integer({ min: 0, max: 8000 })

const device = fc.constantFrom<HistoryDevice>('none', 'arm', 'arm', 'rover')

/**
 * Approvals that are mostly right, because few unsafe commands come in time for a trusted clock and
 * a sound disk.
 */
const approval = fc.oneof(
  { weight: 8, arbitrary: fc.constant<HistoryApproval>('right') },
  {
    weight: 1,
    arbitrary: fc.constantFrom<HistoryApproval>('of another gate', 'of another plan', 'none'),
  },
)

export const history: fc.Arbitrary<HistoryStep[]> = fc.array(
  fc.oneof(
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('issue' as const),
        hazard: fc.constantFrom<Hazard>('read', 'safe', 'caution', 'unsafe', 'unsafe', 'unsafe'),
        device,
        approval,
        lifeMs: fc.integer({ min: 1, max: 20_000 }),
        deliver: fc.boolean(),
      }),
    },
    {
      weight: 8,
      arbitrary: fc.record({ do: fc.constant('deliver' as const), which: fc.nat(7) }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ do: fc.constant('reuse' as const), which: fc.nat(7) }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('forge' as const),
        which: fc.nat(7),
        how: fc.constantFrom('field' as const, 'key' as const, 'cell' as const, 'none' as const),
      }),
    },
    { weight: 3, arbitrary: fc.record({ do: fc.constant('crash' as const) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant('stop' as const), device }) },
    { weight: 4, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: moment }) },
    {
      weight: 1,
      arbitrary: fc.record({
        do: fc.constant('step clock' as const),
        ms: fc.oneof(fc.integer({ min: -500, max: 500 }), fc.integer({ min: -9000, max: 9000 })),
      }),
    },
    {
      weight: 6,
      arbitrary: fc.record({
        do: fc.constant('ask' as const),
        outMs: fc.oneof(fc.nat(50), fc.nat(900), moment),
        backMs: fc.oneof(fc.nat(50), fc.nat(900), moment),
      }),
    },
    {
      weight: 3,
      arbitrary: fc.record({
        do: fc.constant('disk' as const),
        mood: fc.constantFrom<DiskMood>(
          'slow',
          'fails',
          'dies before',
          'dies half way',
          'dies after',
        ),
        after: fc.nat(2),
      }),
    },
    {
      weight: 2,
      arbitrary: fc.record({
        do: fc.constant('verb' as const),
        mood: fc.constantFrom<VerbMood>('quick', 'slow', 'dies', 'throws', 'hangs', 'hangs'),
      }),
    },
    { weight: 5, arbitrary: fc.record({ do: fc.constant('estop' as const), step: estopStep }) },
  ),
  { minLength: 4, maxLength: 40, size: 'max' },
)
