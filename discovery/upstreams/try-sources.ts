import * as z from 'zod'
import type { LookupContext } from '../lookup-run.ts'
import { UpstreamError } from './client.ts'
import type { Source } from './source.ts'

/** One way to an answer, by one source. */
export interface SourceAttempt<T> {
  source: Pick<Source, 'id' | 'name'>
  /** Throws UpstreamError, or ZodError for an answer of another shape. */
  run(): Promise<T>
}

/**
 * Tries sources in their order and warns when it was not the first that answered.
 * @throws UpstreamError when none did
 */
export const trySources = async <T>(
  attempts: readonly SourceAttempt<T>[],
  { warn, signal }: Pick<LookupContext, 'warn' | 'signal'>,
): Promise<T> => {
  const failures: UpstreamError[] = []
  for (const { source, run } of attempts) {
    try {
      const answer = await run()
      if (failures.length > 0)
        warn('fallback_used', `${source.name} is used, because ${join(failures)}`, source.name)
      return answer
    } catch (error) {
      signal.throwIfAborted()
      failures.push(asUpstreamError(source.id, error))
    }
  }
  throw combineFailures(failures)
}

/**
 * Reads the body of an answer.
 * @throws UpstreamError malformed for a body without the fields that it must have
 */
export const readAnswer = <T>({ id }: Pick<Source, 'id'>, read: () => T): T => {
  try {
    return read()
  } catch (error) {
    throw asUpstreamError(id, error)
  }
}

/** Failure of a source; an answer without the fields it must have is one too. */
export const asUpstreamError = (source: string, error: unknown): UpstreamError => {
  if (error instanceof UpstreamError) return error
  // a time outside the range of dates (ECMA-262, 21.4.1.1)
  if (error instanceof RangeError)
    return new UpstreamError(source, 'malformed', 'its answer has values out of range')
  if (!(error instanceof z.ZodError)) throw error
  const fields = error.issues.slice(0, 3).map(({ path }) => path.join('.'))
  return new UpstreamError(source, 'malformed', `its answer lacks ${fields.join(', ')}`)
}

/**
 * Failure of a source without whose part an answer is still given, also at the deadline of the
 * lookup: what was read before it is not lost.
 * @throws the error when it is no failure of a source, or nobody waits any more
 */
export const toMissingPart = (
  { id }: Pick<Source, 'id'>,
  error: unknown,
  { signal }: Pick<LookupContext, 'signal'>,
): UpstreamError => {
  const isLate = signal.aborted && (signal.reason as Error).name === 'TimeoutError'
  if (isLate) return new UpstreamError(id, 'timed_out', 'the deadline passed before its answer')
  if (signal.aborted || !(error instanceof UpstreamError)) throw error
  return error
}

/** One failure for several: the caller may try again as soon as any of them is over. */
export const combineFailures = (failures: readonly UpstreamError[]): UpstreamError => {
  const [first] = failures
  if (first === undefined) return new UpstreamError('sources', 'not_reached', 'none is configured')
  if (failures.length === 1) return first
  const waits = failures.flatMap(({ retryAfterSeconds }) => retryAfterSeconds ?? [])
  const others = join(failures.slice(1))
  const message = `${first.message.slice(first.source.length + 2)}; ${others}`
  return new UpstreamError(first.source, first.failure, message, {
    status: first.status,
    ...(waits.length === 0 ? {} : { retryAfterSeconds: Math.min(...waits) }),
  })
}

const join = (failures: readonly UpstreamError[]): string =>
  failures.map(({ message }) => message).join('; ')
