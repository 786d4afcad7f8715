import { type CompletionRequest, promptsOf } from '../../../shared/wire/completions.ts'
import type { EngineEvent, JobWork } from '../jobs.ts'
import { samplingOf, seedOfChoice } from './chat-order.ts'

/** OpenAI's default of `max_tokens`. */
const DEFAULT_TOKENS = 16

export interface CompletionPlan {
  /** One list for each prompt: the answers that are made to it. */
  prompts: readonly (readonly CompletionWork[])[]
  /** Answers to each prompt that are given. */
  given: number
  asked: number
}

interface CompletionWork {
  work: JobWork
  /** Size of all prompts of the request and of its stop strings. */
  bytes: number
}

type Heard = Exclude<EngineEvent, { type: 'error' | 'vectors' | 'scores' }>

/** Makes one answer; resolves after its end. */
export type Runner = (work: CompletionWork, hear: (event: Heard) => void) => Promise<void>

/** @param tierTokens the tier's bound, if there is one */
export const completionPlan = (
  request: CompletionRequest,
  contextLength: number,
  tierTokens: number | undefined,
  newSeed: () => number,
): CompletionPlan => {
  const asked = request.max_tokens ?? DEFAULT_TOKENS
  const given = request.n ?? 1
  const made = request.best_of ?? given
  const sampling = samplingOf(request, newSeed)
  const topLogprobs = topOf(request, made > given)
  const work = (prompt: string | number[], answer: number): JobWork => ({
    type: 'chat',
    messages: [],
    prompt,
    contextLength,
    maxTokens: Math.min(asked, tierTokens ?? asked),
    sampling: { ...sampling, seed: seedOfChoice(sampling.seed, answer) },
    ...(request.echo === true && { echo: true }),
    ...(topLogprobs !== undefined && { topLogprobs }),
  })
  const all = promptsOf(request)
  // each queued answer keeps the whole request in memory
  const bytes = [...all, ...sampling.stop].reduce((sum, { length }) => sum + length, 0)
  const prompts = all.map(prompt =>
    Array.from({ length: made }, (_, answer) => ({ work: work(prompt, answer), bytes })),
  )
  return { prompts, given, asked }
}

/**
 * Number of log-probabilities to ask for: to choose the best answer, those of the chosen tokens are
 * needed.
 */
const topOf = ({ logprobs }: CompletionRequest, isChosen: boolean): number | undefined =>
  logprobs ?? (isChosen ? 0 : undefined)
