import {
  LlamaGrammarEvaluationState,
  type LlamaModel,
  type SequenceEvaluateOptions,
} from 'node-llama-cpp'
import type { Grammar } from '../protocol.ts'
import { Refusal } from './refusal.ts'

/** The engine's options for an answer that must follow the grammar; new for each answer. */
export const grammarOptions = async (
  model: LlamaModel,
  { text, param }: Grammar,
): Promise<Pick<SequenceEvaluateOptions, 'grammarEvaluationState'>> => {
  const grammar = await model.llama.createGrammar({ grammar: text }).catch((error: Error) => {
    const message = `the engine does not take the grammar of ${param}: ${error.message}`
    throw new Refusal('unsupported_parameter', message, param)
  })
  return { grammarEvaluationState: new LlamaGrammarEvaluationState({ model, grammar }) }
}
