import { ShoalError } from '../../../shared/errors.ts'
import type { ChatRequest } from '../../../shared/wire/openai.ts'
import type { FunctionTool } from '../../../shared/wire/openai-tools.ts'
import type { PlainTool } from '../protocol.ts'

/** The functions that an answer may call. */
export interface ActiveTools {
  tools: readonly PlainTool[]
  /** Index of each in the request. */
  places: readonly number[]
  /** The answer must be a call of one of these indices of `tools`. */
  forced: readonly number[] | undefined
  /** More than one call in an answer. */
  parallel: boolean
}

/** Tools that the answer may call; undefined when it is to be text. @throws ShoalError invalid_request */
export const activeTools = (request: ChatRequest): ActiveTools | undefined => {
  const tools = request.tools ?? []
  checkNames(tools)
  const choice = request.tool_choice ?? (tools.length > 0 ? 'auto' : 'none')
  if (tools.length === 0 && choice !== 'none' && choice !== 'auto')
    throw createInvalidRequestError('tool_choice', 'tool_choice needs tools')
  if (tools.length === 0 || choice === 'none') return undefined
  const places = listAllowedPlaces(choice, tools)
  return {
    tools: places.map(place => plainTool(tools[place] as FunctionTool)),
    places,
    forced: findForcedTools(choice, tools),
    parallel: request.parallel_tool_calls !== false,
  }
}

type Choice = NonNullable<ChatRequest['tool_choice']>

const isAllowed = (choice: Choice): choice is Extract<Choice, { type: 'allowed_tools' }> =>
  typeof choice === 'object' && choice.type === 'allowed_tools'

const listAllowedPlaces = (choice: Choice, tools: readonly FunctionTool[]): readonly number[] => {
  if (!isAllowed(choice)) return tools.map((_, index) => index)
  const places = choice.allowed_tools.tools.map((tool, index) =>
    placeOf(tool.function.name, tools, `tool_choice.allowed_tools.tools.${index}.function.name`),
  )
  return [...new Set(places)].toSorted((a, b) => a - b)
}

const findForcedTools = (
  choice: Choice,
  tools: readonly FunctionTool[],
): readonly number[] | undefined => {
  const mode = isAllowed(choice) ? choice.allowed_tools.mode : choice
  if (mode === 'required') return listAllowedPlaces(choice, tools).map((_, index) => index)
  if (typeof mode === 'string') return undefined
  return [placeOf(mode.function.name, tools, 'tool_choice.function.name')]
}

const placeOf = (name: string, tools: readonly FunctionTool[], param: string): number => {
  const index = tools.findIndex(tool => tool.function.name === name)
  if (index >= 0) return index
  throw createInvalidRequestError(param, `${name} is not among the tools`)
}

const checkNames = (tools: readonly FunctionTool[]): void => {
  const seen = new Set<string>()
  for (const [
    index,
    {
      function: { name },
    },
  ] of tools.entries()) {
    if (seen.has(name))
      throw createInvalidRequestError(`tools.${index}.function.name`, `${name} is a duplicate`)
    seen.add(name)
  }
}

const plainTool = ({ function: { name, description, parameters } }: FunctionTool): PlainTool => ({
  name,
  ...(typeof description === 'string' && { description }),
  parameters: parameters ?? NO_PARAMETERS,
})

const NO_PARAMETERS = { type: 'object', properties: {}, additionalProperties: false }

const createInvalidRequestError = (param: string, message: string): ShoalError =>
  new ShoalError('invalid_request', message, { param })
