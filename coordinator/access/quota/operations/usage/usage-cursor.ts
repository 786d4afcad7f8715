import * as z from 'zod'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { UsageGroup, UsageLine } from '../../usage-query.ts'

const TIMES: readonly UsageGroup[] = ['hour', 'day']

/** Cursor for the next page with the same groups. */
export const cursorOf = (line: UsageLine, groupBy: readonly UsageGroup[]): string =>
  Buffer.from(JSON.stringify(groupBy.map(name => line[name]))).toString('base64url')

/** Throws `invalid_request` for one that is not from a page with these groups. */
export const readCursor = (text: string, groupBy: readonly UsageGroup[]): (string | number)[] => {
  const values = groupBy.map(name => (TIMES.includes(name) ? z.int() : z.string()))
  const shape = z.array(z.union([z.int(), z.string()])).length(values.length)
  try {
    const parsed = shape.parse(JSON.parse(Buffer.from(text, 'base64url').toString('utf8')))
    return parsed.map((value, i) => values[i]?.parse(value) ?? value)
  } catch (cause) {
    throw new ShoalError('invalid_request', 'after is not from a page with these groups', {
      param: 'after',
      cause,
    })
  }
}
