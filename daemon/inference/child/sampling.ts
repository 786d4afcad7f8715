import {
  type LlamaModel,
  type SequenceEvaluateOptions,
  type Token,
  TokenBias,
} from 'node-llama-cpp'
import type { SamplingOrder } from '../protocol.ts'
import { isKnownToken } from './model.ts'
import { UnservableError } from './unservable-error.ts'

/**
 * The engine's options for one request, with OpenAI's meaning.
 *
 * @param listGenerated the tokens of the answer so far; the penalties count in it
 * @param maxTokens most tokens that `listGenerated` will return
 */
export const samplingOptions = (
  model: LlamaModel,
  sampling: SamplingOrder,
  listGenerated: () => Token[],
  maxTokens: number,
): SequenceEvaluateOptions => ({
  temperature: sampling.temperature,
  topP: sampling.topP,
  topK: sampling.topK ?? NO_TOP_K,
  ...(sampling.minP !== undefined && { minP: sampling.minP }),
  seed: sampling.seed,
  ...penalties(sampling, listGenerated, maxTokens),
  ...bias(model, sampling.logitBias),
})

/**
 * 0 would mean the whole vocabulary, which the engine then sorts for each token; null leaves the
 * sampler out (`applyConfig` in the engine's AddonSampler.cpp), undefined would mean 40.
 */
export const NO_TOP_K = null as unknown as number

const penalties = (
  { frequencyPenalty, presencePenalty, repeatPenalty = 1 }: SamplingOrder,
  listGenerated: () => Token[],
  maxTokens: number,
): Pick<SequenceEvaluateOptions, 'repeatPenalty'> => {
  if (frequencyPenalty === 0 && presencePenalty === 0 && repeatPenalty === 1) return {}
  return {
    repeatPenalty: {
      punishTokens: listGenerated,
      /** Constant, because the engine makes a new sampler when it changes. */
      maxPunishTokens: maxTokens,
      penalty: repeatPenalty,
      frequencyPenalty,
      presencePenalty,
    },
  }
}

const bias = (
  model: LlamaModel,
  logitBias: SamplingOrder['logitBias'],
): Pick<SequenceEvaluateOptions, 'tokenBias'> => {
  if (logitBias.length === 0) return {}
  const tokenBias = new TokenBias(model.tokenizer)
  for (const [id, logit] of logitBias) {
    const token = id as Token
    if (!isKnownToken(model, id)) {
      throw new UnservableError(
        'invalid_request',
        `token ${id} is not in the vocabulary`,
        'logit_bias',
      )
    }
    if (model.isEogToken(token)) {
      throw new UnservableError('unsupported_parameter', `token ${id} ends a turn`, 'logit_bias')
    }
    tokenBias.set([token], { logit })
  }
  return { tokenBias }
}
