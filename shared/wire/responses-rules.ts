import type { IgnoredFields } from './ignored.ts'
import type { Problem, RequestRules } from './read-request.ts'
import {
  findRequestIssue,
  type InputItem,
  type InputPart,
  isCall,
  isCallOutput,
  isMessage,
  isText,
  ResponsesRequest,
} from './responses.ts'

/** Fields of unsupported features with their neutral values; any other value is refused by name. */
const neutral = {
  background: [false],
  conversation: [],
  moderation: [],
  previous_response_id: [],
  prompt: [],
} as const

/** Fields that the answer can do without, with their neutral values. */
const dispensable = {
  context_management: [],
  max_tool_calls: [],
  truncation: ['disabled'],
} as const

const findSet = <N extends keyof ResponsesRequest>(
  request: ResponsesRequest,
  fields: Record<N, readonly unknown[]>,
): N[] =>
  (Object.keys(fields) as N[]).filter(name => {
    const value = request[name]
    return value !== undefined && value !== null && !fields[name].includes(value)
  })

const findUnsupported = (request: ResponsesRequest): Problem | undefined =>
  findUnsupportedField(request) ?? findUnsupportedInput(request) ?? findUnsupportedOption(request)

const findUnsupportedField = (request: ResponsesRequest): Problem | undefined => {
  const [name] = findSet(request, neutral)
  if (name === undefined) return undefined
  return name === 'previous_response_id'
    ? { param: name, message: 'responses are not stored: send the whole conversation as input' }
    : toUnsupported(name)
}

const findUnsupportedOption = ({ text, reasoning }: ResponsesRequest): Problem | undefined => {
  if ((text?.verbosity ?? 'medium') !== 'medium') return toUnsupported('text.verbosity')
  return (reasoning?.effort ?? 'none') === 'none' ? undefined : toUnsupported('reasoning.effort')
}

/**
 * Values of `include` that are accepted. Models here produce no reasoning content that would have
 * to be withheld.
 */
const INCLUDABLE = new Set(['message.output_text.logprobs', 'reasoning.encrypted_content'])
export const INCLUDE_LOGPROBS = 'message.output_text.logprobs'

const findUnsupportedInput = ({ input }: ResponsesRequest): Problem | undefined => {
  if (typeof input === 'string') return undefined
  for (const [index, item] of input.entries()) {
    const found = findUnsupportedItem(item, `input.${index}`)
    if (found) return found
  }
  return undefined
}

const findUnsupportedItem = (item: InputItem, path: string): Problem | undefined => {
  if (isMessage(item)) return findUnsupportedPart(item.content, `${path}.content`)
  if (isCallOutput(item)) return findUnsupportedPart(item.output, `${path}.output`)
  if (isCall(item) || isReasoning(item)) return undefined
  if (item.type === 'item_reference')
    return {
      param: path,
      message: 'items are not stored: send the item itself, or use store: false',
    }
  return { param: path, message: `items of type ${item.type} are not supported` }
}

const findUnsupportedPart = (content: string | InputPart[], path: string): Problem | undefined => {
  if (typeof content === 'string') return undefined
  const index = content.findIndex(part => !isText(part))
  const type = content[index]?.type
  return type === undefined
    ? undefined
    : { param: `${path}.${index}`, message: `parts of type ${type} are not supported` }
}

const toUnsupported = (param: string): Problem => ({ param, message: `${param} is not supported` })

/** A thought of an earlier model: another model answers without it. */
const isReasoning = (item: InputItem): boolean => !isMessage(item) && item.type === 'reasoning'

const simplify = (request: ResponsesRequest, ignored: IgnoredFields): ResponsesRequest => {
  const { input, include } = request
  const unused = findSet(request, dispensable)
  const more = { ...request }
  for (const name of unused) {
    ignored.addField(name)
    delete more[name]
  }
  if (Array.isArray(input)) {
    for (const [index, item] of input.entries())
      if (isReasoning(item)) ignored.add(createIgnored('input.reasoning', `input.${index}`))
    more.input = input.filter(item => !isReasoning(item))
  }
  if (include) {
    for (const [index, name] of include.entries())
      if (!INCLUDABLE.has(name)) ignored.add(createIgnored(`include.${name}`, `include.${index}`))
    more.include = include.filter(name => INCLUDABLE.has(name))
  }
  return ignored.list().length === 0 ? request : more
}

const createIgnored = (name: string, param: string) => ({
  name,
  param,
  message: `${param}: ${name.slice(name.indexOf('.') + 1)} is not supported`,
})

/** Store of responses, which finds earlier ones by their id. */
export const STORED_RESPONSES_RULES: RequestRules<ResponsesRequest> = {
  schema: ResponsesRequest,
  hasTools: true,
  findIssue: findRequestIssue,
  findUnsupported: ({ previous_response_id: _, ...request }) => findUnsupported(request),
  simplify,
}

export const RESPONSES_RULES: RequestRules<ResponsesRequest> = {
  schema: ResponsesRequest,
  hasTools: true,
  findIssue: findRequestIssue,
  findUnsupported,
  simplify,
}
