import type * as z from 'zod'
import './issue-words.ts'
import { MAX_PARAM_LENGTH, shortenText } from './shorten-text.ts'

/**
 * Message (`messages.0.content: must be a string`) and path of the first zod issue. Given the
 * parsed body, the message for an absent field says that it is missing.
 */
export const firstIssue = (
  error: z.ZodError,
  body?: unknown,
): { param: string | undefined; message: string } => {
  const issue = deepest(error.issues[0])
  if (issue === undefined) return { param: undefined, message: 'invalid request' }
  if (issue.code === 'unrecognized_keys') {
    const param = nameOf([...issue.path, issue.keys[0] ?? ''])
    return { param, message: `unknown field ${param}` }
  }
  const param = nameOf(issue.path)
  if (param === '') {
    const subject = issue.code === 'invalid_type' ? 'the input ' : ''
    return { param: undefined, message: `${subject}${issue.message}` }
  }
  const missing = body !== undefined && isMissing(body, issue.path)
  return { param, message: missing ? `${param} is missing` : `${param}: ${issue.message}` }
}

const nameOf = (path: readonly PropertyKey[]): string =>
  shortenText(path.join('.'), MAX_PARAM_LENGTH)

const isMissing = (body: unknown, path: readonly PropertyKey[]): boolean => {
  let value = body
  for (const name of path)
    value = Object.hasOwn(Object(value), name) ? Object(value)[name] : undefined
  return value === undefined
}

type Issue = z.core.$ZodIssue | undefined

/** The issue inside a union, when only one branch came close. */
const deepest = (issue: Issue): Issue => {
  if (issue?.code !== 'invalid_union' || issue.errors.length !== 1) return issue
  const inner = issue.errors[0]?.[0]
  return inner ? { ...inner, path: [...issue.path, ...inner.path] } : issue
}
