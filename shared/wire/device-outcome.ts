import * as z from 'zod'
import { Time } from './time.ts'

/** Most entries of `asked.sent`; the newest ones are kept. */
export const MAX_SENT = 32
const MAX_NAME = 120
const MAX_ANSWER = 300
/** Most values of `seen`. */
const MAX_VALUES = 64

/** Operations that were sent to a device, with its answers. Loose, because acks are signed whole. */
export const Asked = z.looseObject({
  sent: z
    .array(
      z.looseObject({
        /** Operation as its link names it: `set-mode brake`. */
        name: z.string().max(MAX_NAME),
        /** Acknowledgement or refusal of the device; null when none came. */
        answer: z.string().max(MAX_ANSWER).nullable(),
      }),
    )
    .max(MAX_SENT),
})
export type Asked = z.infer<typeof Asked>

/**
 * `reached`: the goal of the operation was observed. `at_rest`: the device was observed to rest, or
 * to have landed. `unknown`: no reading since the operation says either.
 */
export const SeenState = z.enum(['reached', 'at_rest', 'moving', 'unknown'])
export type SeenState = z.infer<typeof SeenState>

/** Observation of a device after what it was asked. */
export const Seen = z.looseObject({
  state: SeenState,
  /** Time of the newest reading used, in unix milliseconds by the cell's clock; null without one. */
  at: Time.nullable(),
  /** Readings by property, and `travelled_m`: distance from where it was when it was asked to stop. */
  values: z.record(z.string().max(64), z.json()),
})
export type Seen = z.infer<typeof Seen>

/** Operations sent to a device, and the state observed afterwards. */
export const DeviceOutcome = z.object({ asked: Asked, seen: Seen })
export type DeviceOutcome = z.infer<typeof DeviceOutcome>

/** Outcome of a device of which nothing was asked and nothing was observed. */
export const NOTHING_SEEN: DeviceOutcome = {
  asked: { sent: [] },
  seen: { state: 'unknown', at: null, values: {} },
}

/** True when the goal, or rest, was observed. */
export const isConfirmed = ({ state }: Pick<Seen, 'state'>): boolean =>
  state === 'reached' || state === 'at_rest'

/** Cuts an outcome to the limits of the wire. */
export const limitOutcome = ({ asked, seen }: DeviceOutcome): DeviceOutcome => ({
  asked: {
    sent: asked.sent.slice(-MAX_SENT).map(({ name, answer }) => ({
      name: cut(name, MAX_NAME),
      answer: answer === null ? null : cut(answer, MAX_ANSWER),
    })),
  },
  seen: { ...seen, values: Object.fromEntries(Object.entries(seen.values).slice(0, MAX_VALUES)) },
})

const cut = (text: string, length: number): string => text.slice(0, length).toWellFormed()
