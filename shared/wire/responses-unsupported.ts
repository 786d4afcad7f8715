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

interface Unsupported {
  param: string
  message: string
}

/** First unsupported feature that a valid request asks for. */
export const findUnsupported = (request: ResponsesRequest): Unsupported | undefined =>
  findUnsupportedField(request) ??
  findUnsupportedInput(request) ??
  findUnsupportedTool(request) ??
  findUnsupportedOption(request)

const findUnsupportedField = (request: ResponsesRequest): Unsupported | undefined => {
  const name = (Object.keys(neutral) as (keyof typeof neutral)[]).find(name => {
    const value = request[name]
    return value !== undefined && value !== null && !neutral[name].some(fine => fine === value)
  })
  if (name === undefined) return undefined
  return name === 'previous_response_id'
    ? { param: name, message: 'responses are not stored: send the whole conversation as input' }
    : toUnsupported(name)
}

const findUnsupportedOption = ({
  text,
  reasoning,
  include,
}: ResponsesRequest): Unsupported | undefined => {
  if ((text?.verbosity ?? 'medium') !== 'medium') return toUnsupported('text.verbosity')
  if ((reasoning?.effort ?? 'none') !== 'none') return toUnsupported('reasoning.effort')
  const index = (include ?? []).findIndex(name => !INCLUDABLE.has(name))
  return index === -1 ? undefined : toUnsupported(`include.${index}`)
}

/**
 * Values of `include` that are accepted. Models here produce no reasoning content that would have
 * to be withheld.
 */
const INCLUDABLE = new Set(['message.output_text.logprobs', 'reasoning.encrypted_content'])
export const INCLUDE_LOGPROBS = 'message.output_text.logprobs'

const findUnsupportedInput = ({ input }: ResponsesRequest): Unsupported | undefined => {
  if (typeof input === 'string') return undefined
  for (const [index, item] of input.entries()) {
    const found = findUnsupportedItem(item, `input.${index}`)
    if (found) return found
  }
  return undefined
}

const findUnsupportedItem = (item: InputItem, path: string): Unsupported | undefined => {
  if (isMessage(item)) return findUnsupportedPart(item.content, `${path}.content`)
  if (isCallOutput(item)) return findUnsupportedPart(item.output, `${path}.output`)
  if (isCall(item)) return undefined
  if (item.type === 'item_reference')
    return {
      param: path,
      message: 'items are not stored: send the item itself, or use store: false',
    }
  return { param: path, message: `items of type ${item.type} are not supported` }
}

const findUnsupportedPart = (
  content: string | InputPart[],
  path: string,
): Unsupported | undefined => {
  if (typeof content === 'string') return undefined
  const index = content.findIndex(part => !isText(part))
  const type = content[index]?.type
  return type === undefined
    ? undefined
    : { param: `${path}.${index}`, message: `parts of type ${type} are not supported` }
}

const findUnsupportedTool = ({ tools, tool_choice }: ResponsesRequest): Unsupported | undefined => {
  const index = (tools ?? []).findIndex(tool => tool.type !== 'function')
  if (index !== -1)
    return {
      param: `tools.${index}.type`,
      message: `tools of type ${tools?.[index]?.type} are not supported, only function`,
    }
  const type = typeof tool_choice === 'object' ? tool_choice?.type : 'function'
  return type === undefined || type === 'function' || type === 'allowed_tools'
    ? undefined
    : toUnsupported('tool_choice.type')
}

const toUnsupported = (param: string): Unsupported => ({
  param,
  message: `${param} is not supported`,
})
