import type { LlamaModel, Token } from 'node-llama-cpp'

export interface PromptMessage {
  role: 'system' | 'user' | 'assistant'
  content: string
}

/** Answers a chat greedily, so that the same weights always give the same text. */
export type ChatAnswerer = (messages: readonly PromptMessage[]) => Promise<string>

const LONGEST_ANSWER_TOKENS = 200

export const createAnswerer = async (
  model: LlamaModel,
): Promise<ChatAnswerer & AsyncDisposable> => {
  const context = await model.createContext({ contextSize: 2048, threads: 1 })
  const sequence = context.getSequence()
  const answer = async (messages: readonly PromptMessage[]): Promise<string> => {
    await sequence.clearHistory()
    const tokens: Token[] = []
    for await (const token of sequence.evaluate(promptTokens(model, messages), {
      temperature: 0,
    })) {
      if (model.isEogToken(token) || tokens.length === LONGEST_ANSWER_TOKENS) break
      tokens.push(token)
    }
    return model.detokenize(tokens)
  }
  return Object.assign(answer, { [Symbol.asyncDispose]: () => context.dispose() })
}

/** ChatML with the text-start token that these models require. */
const promptTokens = (model: LlamaModel, messages: readonly PromptMessage[]): Token[] => {
  const turns = messages.map(({ role, content }) => `<|im_start|>${role}\n${content}<|im_end|>\n`)
  const prompt = model.tokenize(`${turns.join('')}<|im_start|>assistant\n`, true)
  return model.tokens.bos === null ? prompt : [model.tokens.bos, ...prompt]
}
