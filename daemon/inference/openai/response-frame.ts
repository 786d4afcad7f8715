import type { Usage } from '../../../shared/wire/openai.ts'
import type { ModelResponse, OutputItem, ResponseUsage } from '../../../shared/wire/response.ts'
import type { ResponsesRequest } from '../../../shared/wire/responses.ts'
import type { AnswerHead } from './answer-head.ts'

/** State of a response; fields that are not known yet are null or empty on the wire. */
export interface ResponseProgress {
  status: ModelResponse['status']
  output: readonly OutputItem[]
  usage?: Usage
  /** Unix time, seconds. */
  completedAt?: number
  error?: ModelResponse['error']
  reason?: NonNullable<ModelResponse['incomplete_details']>['reason']
}

/** The response object: what was asked, with OpenAI's defaults, and how far it has come. */
export const responseFrame = (
  request: ResponsesRequest,
  { id, created, model }: AnswerHead,
  { status, output, usage, completedAt, error, reason }: ResponseProgress,
): ModelResponse => ({
  id,
  object: 'response',
  created_at: created,
  completed_at: completedAt ?? null,
  status,
  error: error ?? null,
  incomplete_details: reason === undefined ? null : { reason },
  instructions: request.instructions ?? null,
  max_output_tokens: request.max_output_tokens ?? null,
  max_tool_calls: null,
  model,
  output: [...output],
  parallel_tool_calls: request.parallel_tool_calls ?? true,
  previous_response_id: null,
  prompt_cache_key: request.prompt_cache_key ?? null,
  reasoning: { effort: null, summary: null },
  safety_identifier: request.safety_identifier ?? null,
  background: false,
  service_tier: 'default',
  store: false,
  temperature: request.temperature ?? 1,
  top_p: request.top_p ?? 1,
  presence_penalty: request.presence_penalty ?? 0,
  frequency_penalty: request.frequency_penalty ?? 0,
  top_logprobs: request.top_logprobs ?? 0,
  text: { format: request.text?.format ?? { type: 'text' }, verbosity: 'medium' },
  tool_choice: request.tool_choice ?? 'auto',
  tools: toolsOf(request),
  truncation: 'disabled',
  usage: usage ? responseUsage(usage) : null,
  user: request.user ?? null,
  metadata: request.metadata ?? {},
})

const toolsOf = ({ tools }: ResponsesRequest): ModelResponse['tools'] =>
  (tools ?? []).flatMap(tool => {
    if (!('name' in tool) || tool.type !== 'function') return []
    const { name, description, parameters, strict } = tool as ModelResponse['tools'][number]
    return {
      type: 'function' as const,
      name,
      description: description ?? null,
      parameters: parameters ?? null,
      strict: strict ?? null,
    }
  })

const responseUsage = (usage: Usage): ResponseUsage => ({
  input_tokens: usage.prompt_tokens,
  input_tokens_details: {
    cached_tokens: usage.prompt_tokens_details?.cached_tokens ?? 0,
    cache_write_tokens: 0,
  },
  output_tokens: usage.completion_tokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: usage.total_tokens,
})

/** Effect of a finish reason of the chat path on the response and its last item. */
export const describeEnd = (
  finish: string,
): Pick<ResponseProgress, 'reason'> & { status: 'completed' | 'incomplete' } => {
  if (finish === 'length') return { status: 'incomplete', reason: 'max_output_tokens' }
  if (finish === 'content_filter') return { status: 'incomplete', reason: 'content_filter' }
  return { status: 'completed' }
}
