import {
  type InputItem,
  type InputPart,
  isCall,
  isCallOutput,
  isMessage,
  isText,
  type ResponsesRequest,
} from './responses.ts'

/** Fields of unsupported features with their neutral values; any other value is refused by name. */
const neutral = {
  background: [false],
  conversation: [],
  context_management: [],
  max_tool_calls: [],
  moderation: [],
  previous_response_id: [],
  prompt: [],
  truncation: ['disabled'],
} as const

export interface Unserved {
  param: string
  message: string
}

/** First unsupported feature that a valid request asks for. */
export const unservedResponse = (request: ResponsesRequest): Unserved | undefined =>
  unservedField(request) ??
  unservedInput(request) ??
  unservedTool(request) ??
  unservedOption(request)

const unservedField = (request: ResponsesRequest): Unserved | undefined => {
  const name = (Object.keys(neutral) as (keyof typeof neutral)[]).find(name => {
    const value = request[name]
    return value !== undefined && value !== null && !neutral[name].some(fine => fine === value)
  })
  if (name === undefined) return undefined
  return name === 'previous_response_id'
    ? { param: name, message: 'no response is kept: send the whole conversation as input' }
    : notServed(name)
}

const unservedOption = ({ text, reasoning, include }: ResponsesRequest): Unserved | undefined => {
  if ((text?.verbosity ?? 'medium') !== 'medium') return notServed('text.verbosity')
  if ((reasoning?.effort ?? 'none') !== 'none') return notServed('reasoning.effort')
  const index = (include ?? []).findIndex(name => !INCLUDABLE.has(name))
  return index === -1 ? undefined : notServed(`include.${index}`)
}

/**
 * Values of `include` that are accepted. Models here produce no reasoning content that would have
 * to be withheld.
 */
const INCLUDABLE = new Set(['message.output_text.logprobs', 'reasoning.encrypted_content'])
export const INCLUDE_LOGPROBS = 'message.output_text.logprobs'

const unservedInput = ({ input }: ResponsesRequest): Unserved | undefined => {
  if (typeof input === 'string') return undefined
  for (const [index, item] of input.entries()) {
    const found = unservedItem(item, `input.${index}`)
    if (found) return found
  }
  return undefined
}

const unservedItem = (item: InputItem, path: string): Unserved | undefined => {
  if (isMessage(item)) return unservedPart(item.content, `${path}.content`)
  if (isCallOutput(item)) return unservedPart(item.output, `${path}.output`)
  if (isCall(item)) return undefined
  if (item.type === 'item_reference')
    return { param: path, message: 'no item is kept: send it itself, or use store: false' }
  return { param: path, message: `items of type ${item.type} are not served` }
}

const unservedPart = (content: string | InputPart[], path: string): Unserved | undefined => {
  if (typeof content === 'string') return undefined
  const index = content.findIndex(part => !isText(part))
  const type = content[index]?.type
  return type === undefined
    ? undefined
    : { param: `${path}.${index}`, message: `parts of type ${type} are not served` }
}

const unservedTool = ({ tools, tool_choice }: ResponsesRequest): Unserved | undefined => {
  const index = (tools ?? []).findIndex(tool => tool.type !== 'function')
  if (index !== -1)
    return {
      param: `tools.${index}.type`,
      message: `tools of type ${tools?.[index]?.type} are not served, only function`,
    }
  const type = typeof tool_choice === 'object' ? tool_choice?.type : 'function'
  return type === undefined || type === 'function' || type === 'allowed_tools'
    ? undefined
    : notServed('tool_choice.type')
}

const notServed = (param: string): Unserved => ({ param, message: `${param} is not served` })
