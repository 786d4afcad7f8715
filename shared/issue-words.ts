import * as z from 'zod'
import { MAX_PARAM_LENGTH, shortenText } from './shorten-text.ts'

/**
 * Rewords the schema library's message for an invalid value: `must be at most 2`. Messages set by a
 * schema stay. Importing this file applies it to the whole process.
 */
const describeIssue = (issue: z.core.$ZodRawIssue): string => {
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kindOf(issue.expected)}`
    case 'invalid_value':
      return `must be ${oneOf(issue.values.map(String))}`
    case 'too_big':
      return describeBound(
        issue,
        issue.maximum,
        issue.inclusive === false ? 'less than' : 'at most',
      )
    case 'too_small':
      return describeBound(
        issue,
        issue.minimum,
        issue.inclusive === false ? 'more than' : 'at least',
      )
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`
    case 'invalid_format':
      return describeFormat(issue)
    case 'unrecognized_keys':
      return `unknown field ${nameKeys(issue.keys)}`
    case 'invalid_union':
      return describeUnion(issue)
    default:
      return 'is not valid'
  }
}

/** Bounds of what one message repeats of the names that a client made up. */
const MAX_KEYS = 5
const MAX_KEY_LENGTH = 64

const nameKeys = (keys: readonly string[]): string => {
  const names = keys.slice(0, MAX_KEYS).map(key => shortenText(key, MAX_KEY_LENGTH))
  const more = keys.length - names.length
  return more === 0 ? names.join(', ') : `${names.join(', ')} and ${more} more`
}

const KINDS: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
  null: 'null',
}

const kindOf = (expected: string): string => KINDS[expected] ?? expected

const oneOf = (values: readonly string[]): string =>
  values.length === 1 ? `${values[0]}` : `one of ${values.join(', ')}`

const UNITS: Record<string, string> = { string: 'character', array: 'item', set: 'item' }

/** Describes the bound of a number, or of the length of a string or list. */
const describeBound = (
  { origin, exact }: z.core.$ZodIssueTooBig | z.core.$ZodIssueTooSmall | z.core.$ZodRawIssue,
  limit: unknown,
  words: string,
): string => {
  const how = exact === true ? 'exactly' : words
  const unit = UNITS[String(origin)]
  if (unit === undefined) return `must be ${how} ${limit}`
  return `must have ${how} ${limit} ${unit}${Number(limit) === 1 ? '' : 's'}`
}

const FORMATS: Record<string, string> = {
  datetime: 'a date and time such as 2026-11-20T08:00:00Z',
  date: 'a date such as 2026-11-20',
  url: 'an address such as https://shoal.example',
  email: 'an email address',
  uuid: 'a UUID',
  ipv4: 'an IPv4 address',
  ipv6: 'an IPv6 address',
}

const describeFormat = (issue: z.core.$ZodRawIssue): string => {
  if (issue.prefix !== undefined) return `must begin with ${issue.prefix}`
  if (issue.pattern !== undefined && issue.format === 'regex') return `must match ${issue.pattern}`
  return `must be ${FORMATS[String(issue.format)] ?? `in the form ${issue.format}`}`
}

type Branch = readonly z.core.$ZodIssue[]

/** Describes the branch of the right kind if there is exactly one, otherwise all branches. */
const describeUnion = (issue: z.core.$ZodRawIssue): string => {
  const choices = issue.options as unknown[] | undefined
  if (choices !== undefined && choices.length > 0) return `must be ${oneOf(choices.map(String))}`
  const branches = (issue.errors ?? []) as readonly Branch[]
  const near = branches.filter(([first]) => !isOfOtherKind(first))
  const [only] = near.length === 1 ? (near[0] ?? []) : []
  if (only !== undefined)
    return only.path.length === 0
      ? only.message
      : `${shortenText(only.path.join('.'), MAX_PARAM_LENGTH)}: ${only.message}`
  const told = [...new Set(branches.flatMap(([first]) => (first ? [first.message] : [])))]
  return told.length === 0 || near.length > 1
    ? 'matches none of the accepted forms'
    : told.join(', or ')
}

const isOfOtherKind = (issue: z.core.$ZodIssue | undefined): boolean =>
  issue === undefined || (issue.path.length === 0 && /^invalid_(type|value)$/.test(issue.code))

z.config({ localeError: describeIssue })
