import type { ChatRequest } from '../../../shared/wire/openai.ts'
import type { ChatOrder } from '../protocol.ts'
import { answerGrammar } from './answer-grammar.ts'
import { plainMessages, samplingOf, seedOfChoice } from './chat-order.ts'
import type { ActiveTools } from './tools.ts'

type ChatWork = Omit<ChatOrder, 'job'>

/**
 * Returns the engine's work for a request: messages, sampling, and constraints on the answer.
 *
 * @throws ShoalError unsupported_parameter for a schema that cannot be enforced
 */
export const chatWork = (
  body: ChatRequest,
  active: ActiveTools | undefined,
  newSeed: () => number,
): Pick<ChatWork, 'type' | 'messages' | 'sampling' | 'grammar' | 'tools' | 'calls'> => ({
  type: 'chat',
  messages: plainMessages(body),
  sampling: samplingOf(body, newSeed),
  ...answerGrammar(body.response_format, active),
  ...(active && { tools: active.tools }),
})

/** Returns the work for each answer, each with its own seed. */
export const toChoiceWorks = (work: ChatWork, n: number): ChatWork[] =>
  Array.from({ length: n }, (_, index) => {
    const seed = seedOfChoice(work.sampling.seed, index)
    return { ...work, sampling: { ...work.sampling, seed } }
  })

/** Text that waits with the request, of whatever in it has no bound of its own. */
export const promptBytes = ({
  messages,
  tools = [],
  grammar,
  calls,
  sampling,
}: Pick<ChatWork, 'messages' | 'tools' | 'grammar' | 'calls' | 'sampling'>): number =>
  [
    ...messages.flatMap(({ text, calls = [] }) => [text, ...calls.map(call => call.arguments)]),
    ...tools.map(tool => JSON.stringify(tool)),
    ...sampling.stop,
    grammar?.text ?? '',
    calls?.rules ?? '',
  ].reduce((sum, { length }) => sum + length, 0)
