import type { Usage } from '../../../shared/wire/openai.ts'
import type { AnswerTiming } from '../../fleet/routing/health/engine-health.ts'
import type { AttemptResult } from './attempt-result.ts'
import type { End, SentRequest } from './lane.ts'

/** Returns how an attempt ended for its engine. */
export const endOf = (attempt: AttemptResult): End => {
  if (attempt.kind === 'cancelled' || attempt.kind === 'tooLarge') return 'cancelled'
  if (attempt.kind === 'broken') return 'failed'
  if (attempt.kind === 'answered') return attempt.fault === undefined ? 'served' : 'failed'
  if (attempt.kind === 'declined') return attempt.rest ? 'served' : 'cancelled'
  return attempt.failed ? 'failed' : 'busy'
}

/** Returns the duration and tokens of an answer; undefined without an answer or its usage. */
export const timingOf = (
  attempt: AttemptResult,
  { sentAtMs }: SentRequest,
  { bodyBytes, nowMs }: { bodyBytes: number; nowMs: number },
): AnswerTiming | undefined => {
  if (attempt.kind !== 'answered' || attempt.usage === undefined) return undefined
  const { usage, beganAtMs } = attempt
  return {
    durationMs: nowMs - sentAtMs,
    firstByteMs: beganAtMs === undefined ? undefined : beganAtMs - sentAtMs,
    tokens: usage.total_tokens,
    generatedTokens: usage.completion_tokens,
    uncachedBytes: bodyBytes * (1 - cachedShareOf(usage)),
  }
}

/** Share of the prompt that the engine did not have to read, 0 to 1. */
const cachedShareOf = ({ prompt_tokens: all, prompt_tokens_details: details }: Usage): number =>
  Math.min(1, (details?.cached_tokens ?? 0) / Math.max(1, all))
