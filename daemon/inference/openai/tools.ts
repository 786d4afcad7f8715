import { ShoalError } from '../../../shared/errors.ts'
import type { ChatRequest } from '../../../shared/wire/openai.ts'
import type { FunctionTool } from '../../../shared/wire/openai-tools.ts'
import type { PlainTool } from '../protocol.ts'

/** The functions that an answer may call. */
export interface ActiveTools {
  tools: readonly PlainTool[]
  /** The answer is a call, of one of these, named by their place in the request. */
  forced: readonly number[] | undefined
  /** More than one call in an answer. */
  parallel: boolean
}

/** Undefined when the answer is to be text. @throws ShoalError invalid_request */
export const activeTools = (request: ChatRequest): ActiveTools | undefined => {
  const tools = request.tools ?? []
  checkNames(tools)
  const choice = request.tool_choice ?? (tools.length > 0 ? 'auto' : 'none')
  if (tools.length === 0 && choice !== 'none' && choice !== 'auto')
    throw invalid('tool_choice', 'tool_choice needs tools')
  if (tools.length === 0 || choice === 'none') return undefined
  return {
    tools: tools.map(plainTool),
    forced: forcedBy(choice, tools),
    parallel: request.parallel_tool_calls !== false,
  }
}

const forcedBy = (
  choice: NonNullable<ChatRequest['tool_choice']>,
  tools: readonly FunctionTool[],
): readonly number[] | undefined => {
  if (choice === 'required') return tools.map((_, index) => index)
  if (typeof choice === 'string') return undefined
  const { name } = choice.function
  const index = tools.findIndex(tool => tool.function.name === name)
  if (index >= 0) return [index]
  throw invalid('tool_choice.function.name', `${name} is not among the tools`)
}

const checkNames = (tools: readonly FunctionTool[]): void => {
  const seen = new Set<string>()
  for (const [
    index,
    {
      function: { name },
    },
  ] of tools.entries()) {
    if (seen.has(name)) throw invalid(`tools.${index}.function.name`, `${name} comes twice`)
    seen.add(name)
  }
}

const plainTool = ({ function: { name, description, parameters } }: FunctionTool): PlainTool => ({
  name,
  ...(typeof description === 'string' && { description }),
  parameters: parameters ?? NO_PARAMETERS,
})

export const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false }

const invalid = (param: string, message: string): ShoalError =>
  new ShoalError('invalid_request', message, { param })
