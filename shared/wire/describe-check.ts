import * as z from 'zod'
import type { Precondition } from './plan-part.ts'

type Limit = Pick<Precondition, 'name' | 'limit'>

/** Bounds by the name of the check; formations put the name of the unit before it. */
const WORDS: Readonly<Record<string, string>> = {
  battery_percent: 'at least',
  battery_volts: 'at least',
  link_quality_percent: 'at least',
  separation_m: 'at least',
  geofence_margin_m: 'above',
  state_age_ms: 'at most',
  speed_m_s: 'at most',
  acceleration_m_s2: 'at most',
  start_position: 'at most',
  clock_width_ms: 'at most',
  commands_per_minute: 'below',
}

/** Condition of a verb on a reading, or a range. */
const Condition = z.strictObject({
  property: z.string().optional(),
  allowed: z.array(z.json()).optional(),
  refused: z.array(z.json()).optional(),
  min: z.number().nullish(),
  max: z.number().nullish(),
})

const Window = z.object({
  days: z.array(z.string()).optional(),
  from: z.string(),
  to: z.string(),
})

/**
 * Describes a check that does not hold: the reading, what it must be, and the source of the limit.
 */
export const describeCheck = (check: Precondition): string => {
  const { name, observed, limit, source } = check
  const required = describeLimit(check)
  if (required === undefined) return typeof observed === 'string' ? observed : `${name} fails`
  const from = source === undefined || source === 'verb' ? '' : ` (set by the ${source})`
  const property = Condition.safeParse(limit).data?.property
  const seen = observed === null ? 'unknown or stale' : text(observed)
  const by = property === undefined ? '' : `${name}: `
  return `${by}${property ?? name} is ${seen}, but must be ${required}${from}`
}

/**
 * The limit of a check in words, with the reading where the check has another name; undefined for a
 * check without a limit.
 */
export const describeRequirement = ({ name, limit }: Limit): string | undefined => {
  const required = describeLimit({ name, limit })
  const property = Condition.safeParse(limit).data?.property
  return required === undefined || property === undefined || property === name
    ? required
    : `${property} is ${required}`
}

/** Demand of the limit of a check, in words; undefined for a check without one. */
export const describeLimit = ({ name, limit }: Limit): string | undefined => {
  if (limit === null) return undefined
  const windows = z.array(Window).nonempty().safeParse(limit).data
  if (windows !== undefined) return `within ${windows.map(describeWindow).join(' or ')} UTC`
  if (Array.isArray(limit)) return limit.length === 0 ? 'none' : limit.map(text).join(' or ')
  const condition = Condition.safeParse(limit).data
  if (condition !== undefined) return describeCondition(condition)
  const word = WORDS[name.split(/[\s:]/).at(-1) ?? '']
  return word === undefined ? text(limit) : `${word} ${text(limit)}`
}

const describeCondition = ({ allowed, refused, min, max }: z.output<typeof Condition>): string =>
  [
    ...(allowed === undefined ? [] : [allowed.map(text).join(' or ')]),
    ...(refused === undefined ? [] : [`not ${refused.map(text).join(' or ')}`]),
    ...(min == null ? [] : [`at least ${min}`]),
    ...(max == null ? [] : [`at most ${max}`]),
  ].join(' and ')

const describeWindow = ({ days, from, to }: z.output<typeof Window>): string =>
  `${days === undefined ? '' : `${days.join(',')} `}${from}-${to}`

const text = (value: z.core.util.JSONType): string =>
  typeof value === 'string' ? value : JSON.stringify(value)
