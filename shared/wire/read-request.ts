import * as z from 'zod'
import { ShoalError } from '../errors.ts'
import { firstIssue } from '../first-issue.ts'
import { leaveForeignTools } from './foreign-tools.ts'
import { type Ignored, IgnoredFields } from './ignored.ts'

export interface Problem {
  param: string | undefined
  message: string
}

/** How the bodies of one inference route are read, by the coordinator and by a cell alike. */
export interface RequestRules<T> {
  /** Objects of it are not strict: what they do not name is ignored. */
  schema: z.ZodType<T>
  hasTools?: boolean
  findIssue?: (error: z.ZodError, body: unknown) => Problem
  /** First feature that would change the answer and that no model here has. */
  findUnsupported?: (request: T) => Problem | undefined
  findContradiction?: (request: T) => Problem | undefined
  /** Leaves out what the answer can do without, and gives fields of other servers our names. */
  simplify?: (request: T, ignored: IgnoredFields) => T
}

interface ReadRequest<T> {
  request: T
  ignored: Ignored[]
  /** True when the request differs from the body sent, which must then be rewritten. */
  isChanged: boolean
}

/** @throws ShoalError invalid_request or unsupported_parameter, with `param` */
export const readRequest = <T>(rules: RequestRules<T>, body: unknown): ReadRequest<T> => {
  const { schema, hasTools, findIssue = firstIssue, simplify } = rules
  const found = new IgnoredFields()
  const { body: own, places } = hasTools ? leaveForeignTools(body, found) : { body }
  const parsed = schema.safeParse(own)
  if (!parsed.success)
    throw createProblem('invalid_request', findIssue(restorePlaces(parsed.error, places), body))
  found.addUnread(own, parsed.data)
  const unsupported = rules.findUnsupported?.(parsed.data)
  if (unsupported) throw createProblem('unsupported_parameter', unsupported)
  const wrong = rules.findContradiction?.(parsed.data)
  if (wrong) throw createProblem('invalid_request', wrong)
  const request = simplify?.(parsed.data, found) ?? parsed.data
  const ignored = found.list()
  return { request, ignored, isChanged: ignored.length > 0 || request !== parsed.data }
}

/** Errors name a tool by its place in the request, not by its place among the functions. */
const restorePlaces = (error: z.ZodError, places: readonly number[] | undefined): z.ZodError =>
  places === undefined
    ? error
    : new z.ZodError(
        error.issues.map(issue => {
          const [first, index, ...rest] = issue.path
          const place = typeof index === 'number' ? places[index] : undefined
          return first === 'tools' && place !== undefined
            ? { ...issue, path: [first, place, ...rest] }
            : issue
        }),
      )

const createProblem = (
  code: 'invalid_request' | 'unsupported_parameter',
  { param, message }: Problem,
): ShoalError => new ShoalError(code, message, param === undefined ? {} : { param })

/** Refusal of a request for a key that wants nothing to be ignored. */
export const createIgnoredError = ({ param, message }: Ignored): ShoalError =>
  createProblem('invalid_request', { param, message })
