import { ShoalError } from '../../../shared/errors.ts'
import { HEADER_MAX_TOKENS } from '../../../shared/wire/link.ts'
import type { CellRequest } from '../../fleet/cells/cell-link.ts'
import { type CellEngine, load } from '../../fleet/routing/engine.ts'
import { firstByteLimitMs, silenceLimitMs } from '../../fleet/routing/health/time-limits.ts'
import { Follower } from './attempt.ts'
import type { AttemptResult } from './attempt-result.ts'
import type { FollowOptions } from './follow-options.ts'

export interface EngineRequest extends Pick<CellRequest, 'path' | 'body'> {
  headers: NonNullable<CellRequest['headers']>
  /** Size of the body, which may be gone once an answer has begun. */
  bodyBytes: number
}

/** Options for reading the answer. */
interface EngineReader extends Omit<FollowOptions, 'limitMs'> {
  /** Receives the attempt under way. */
  onSent?: (follower: Follower) => void
}

/**
 * Sends a request to an engine and follows the answer to its end, within the limits of time. The
 * body is not kept.
 */
export const askEngine = (
  engine: CellEngine,
  { path, headers, body, bodyBytes }: EngineRequest,
  { onSent, ...reader }: EngineReader,
): Promise<AttemptResult> => {
  const { link } = engine
  const limitMs = (hasBegun: boolean) =>
    limitMsOf(engine, hasBegun, { headers, bodyBytes }, reader.streaming)
  const options = { ...reader, limitMs }
  try {
    const follower = new Follower(link, { method: 'POST', path, headers, body }, options)
    onSent?.(follower)
    return follower.attempt
  } catch (error) {
    if (!(error instanceof ShoalError)) throw error
    const fault = link.isOpen ? 'no_first_byte' : 'link_lost'
    return Promise.resolve({ kind: 'retry', error, failed: true, fault })
  }
}

/** Time without progress after which the engine counts as hanging; undefined while it loads. */
const limitMsOf = (
  engine: CellEngine,
  hasBegun: boolean,
  { headers, bodyBytes: requestBytes }: Pick<EngineRequest, 'headers' | 'bodyBytes'>,
  isStream: boolean,
): number | undefined => {
  if (!engine.ready) return undefined
  if (hasBegun) return silenceLimitMs(engine.health, load(engine))
  const mostTokens = Math.min(
    Number(headers[HEADER_MAX_TOKENS] ?? Number.POSITIVE_INFINITY),
    engine.contextLength ?? Number.POSITIVE_INFINITY,
  )
  const demand = { requestBytes, isStream, mostTokens, load: load(engine) }
  return firstByteLimitMs(engine.health, demand, () => listPeers(engine))
}

/** Records of the other engines that serve the same models. */
function* listPeers(engine: CellEngine) {
  for (const { engines } of engine.pools ?? [])
    for (const { health } of engines)
      if (health !== undefined && health !== engine.health) yield health
}
