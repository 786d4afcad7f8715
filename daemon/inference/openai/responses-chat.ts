import {
  type InputItem,
  type InputMessage,
  type InputPart,
  isCall,
  isCallOutput,
  isMessage,
  isText,
  type ResponsesFunction,
  type ResponsesRequest,
} from '../../../shared/wire/responses.ts'
import { INCLUDE_LOGPROBS } from '../../../shared/wire/responses-rules.ts'

/**
 * A valid Responses request as the chat request that means the same: one path serves both. Fields
 * that are not asked for are left out, so that the defaults of the chat path count.
 */
export const chatBodyOf = (request: ResponsesRequest): Record<string, unknown> => ({
  ...omitNullish({
    model: request.model,
    messages: messagesOf(request),
    max_completion_tokens: request.max_output_tokens,
    temperature: request.temperature,
    top_p: request.top_p,
    presence_penalty: request.presence_penalty,
    frequency_penalty: request.frequency_penalty,
    parallel_tool_calls: request.parallel_tool_calls,
    response_format: formatOf(request),
  }),
  ...toolsOf(request),
  ...logprobsOf(request),
  ...(request.stream === true && { stream: true, stream_options: { include_usage: true } }),
})

const omitNullish = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined && value !== null),
  )

interface Message {
  role: string
  content: unknown
  tool_call_id?: string
  tool_calls?: object[]
}

const messagesOf = ({ instructions, input }: ResponsesRequest): Message[] => {
  const messages: Message[] = []
  if (typeof instructions === 'string') messages.push({ role: 'system', content: instructions })
  if (typeof input === 'string') messages.push({ role: 'user', content: input })
  else for (const item of input) addItem(messages, item)
  return messages
}

/** Calls belong to the message of the assistant before them: one answer is one message. */
const addItem = (messages: Message[], item: InputItem): void => {
  if (isMessage(item)) messages.push(messageOf(item))
  else if (isCallOutput(item)) {
    messages.push({ role: 'tool', tool_call_id: item.call_id, content: textOf(item.output) })
  } else if (isCall(item)) {
    const last = messages.at(-1)
    const message = last?.role === 'assistant' ? last : newAnswer(messages)
    const call = { name: item.name, arguments: item.arguments }
    message.tool_calls ??= []
    message.tool_calls.push({ id: item.call_id, type: 'function', function: call })
  }
}

const newAnswer = (messages: Message[]): Message => {
  const message: Message = { role: 'assistant', content: null }
  messages.push(message)
  return message
}

const messageOf = ({ role, content }: InputMessage): Message => ({ role, content: textOf(content) })

const textOf = (content: string | InputPart[]): string =>
  typeof content === 'string'
    ? content
    : content.map(part => (isText(part) ? part.text : '')).join('')

const formatOf = ({ text }: ResponsesRequest): unknown => {
  const format = text?.format
  if (format?.type !== 'json_schema') return format
  const { type, ...schema } = format
  return { type, json_schema: schema }
}

const toolsOf = ({ tools, tool_choice: choice }: ResponsesRequest): Record<string, unknown> => {
  const functions = (tools ?? []).filter(isFunction)
  if (typeof choice !== 'object' || choice === null)
    return omitNullish({ tools: chatTools(functions), tool_choice: choice })
  const toNamedTool = (name: string) => ({ type: 'function', function: { name } })
  if ('mode' in choice && Array.isArray(choice.tools)) {
    const allowed = { mode: choice.mode, tools: choice.tools.map(({ name }) => toNamedTool(name)) }
    return omitNullish({
      tools: chatTools(functions),
      tool_choice: { type: 'allowed_tools', allowed_tools: allowed },
    })
  }
  return {
    tools: chatTools(functions),
    tool_choice: toNamedTool((choice as { name: string }).name),
  }
}

const isFunction = (
  tool: NonNullable<NonNullable<ResponsesRequest['tools']>[number]>,
): tool is ResponsesFunction => tool.type === 'function'

const chatTools = (functions: readonly ResponsesFunction[]): object[] | undefined =>
  functions.length === 0
    ? undefined
    : functions.map(({ type, ...rest }) => ({ type, function: omitNullish(rest) }))

const logprobsOf = ({ include, top_logprobs: top }: ResponsesRequest): Record<string, unknown> => {
  const wanted = include?.includes(INCLUDE_LOGPROBS) || (top ?? 0) > 0
  return wanted ? { logprobs: true, top_logprobs: top ?? 0 } : {}
}

/** A field of the chat request by the name that the caller knows. */
export const responsesParam = (param: string): string => {
  const [first = '', ...rest] = param.split('.')
  if (first === 'messages') return 'input'
  if (first === 'max_completion_tokens' || first === 'max_tokens') return 'max_output_tokens'
  if (first === 'response_format')
    return ['text.format', ...rest.filter(name => name !== 'json_schema')].join('.')
  if (first === 'tools' || first === 'tool_choice')
    return [first, ...rest.filter(name => name !== 'function' && name !== 'allowed_tools')].join(
      '.',
    )
  return param
}
