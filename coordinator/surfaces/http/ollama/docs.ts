import * as z from 'zod'
import type { RouteDocs } from '../route-docs.ts'
import { OllamaChatRequest } from './chat-request.ts'
import { OllamaEmbeddingsRequest, OllamaEmbedRequest } from './embed-request.ts'
import { OllamaGenerateRequest } from './generate-request.ts'

const TAG = 'ollama'

const END = {
  model: z.string(),
  created_at: z.iso.datetime(),
  done: z.boolean().describe('True in the last object of an answer, which has the figures.'),
  done_reason: z.enum(['stop', 'length', 'load', 'unload']).exactOptional(),
  total_duration: z.int().exactOptional().describe('Nanoseconds, as the coordinator measured it.'),
  load_duration: z.int().exactOptional(),
  prompt_eval_count: z.int().exactOptional().describe('Tokens of the prompt.'),
  prompt_eval_duration: z
    .int()
    .exactOptional()
    .describe('Nanoseconds until the first text of a stream; includes waiting.'),
  eval_count: z.int().exactOptional().describe('Tokens of the answer.'),
  eval_duration: z.int().exactOptional().describe('Nanoseconds from the first text to the end.'),
  logprobs: z.array(z.unknown()).exactOptional(),
}

const ChatObject = z.object({
  message: z.object({
    role: z.literal('assistant'),
    content: z.string(),
    tool_calls: z
      .array(
        z.object({
          id: z.string(),
          function: z.object({
            index: z.int(),
            name: z.string(),
            arguments: z.record(z.string(), z.unknown()),
          }),
        }),
      )
      .exactOptional(),
  }),
  ...END,
})
const GenerateObject = z.object({ response: z.string(), ...END })

export const CHAT_DOCS: RouteDocs = {
  id: 'ollama-chat',
  tag: TAG,
  summary: "Ollama's chat: an answer to a conversation, as lines of JSON or whole.",
  body: OllamaChatRequest,
  example: { model: 'model-a:7b', messages: [{ role: 'user', content: 'What is a cell?' }] },
  answer: ChatObject,
  lines: ChatObject,
}
export const GENERATE_DOCS: RouteDocs = {
  id: 'ollama-generate',
  tag: TAG,
  summary: "Ollama's generate: an answer to a prompt, as lines of JSON or whole.",
  body: OllamaGenerateRequest,
  example: { model: 'model-a:7b', prompt: 'What is a cell?' },
  answer: GenerateObject,
  lines: GenerateObject,
}
export const EMBED_DOCS: RouteDocs = {
  id: 'ollama-embed',
  tag: TAG,
  summary: "Ollama's embed: vectors for one or more texts.",
  body: OllamaEmbedRequest,
  example: { model: 'embed-a', input: ['a cell', 'a coordinator'] },
  answer: z.object({
    model: z.string(),
    embeddings: z.array(z.array(z.number())),
    total_duration: z.int().exactOptional(),
    load_duration: z.int().exactOptional(),
    prompt_eval_count: z.int().exactOptional(),
  }),
}
export const EMBEDDINGS_DOCS: RouteDocs = {
  id: 'ollama-embeddings',
  tag: TAG,
  summary: "Ollama's older embeddings: one vector for one text.",
  body: OllamaEmbeddingsRequest,
  example: { model: 'embed-a', prompt: 'a cell' },
  answer: z.object({ embedding: z.array(z.number()) }),
}

const Details = z.object({
  parent_model: z.string(),
  format: z.literal('gguf'),
  family: z.string(),
  families: z.array(z.string()),
  parameter_size: z.string(),
  quantization_level: z.string(),
})
export type Details = z.infer<typeof Details>

const LISTED = {
  name: z.string(),
  model: z.string().describe('Id to send as `model`.'),
  size: z.number().describe('Bytes; 0 when no cell reports them.'),
  digest: z.string().describe('Changes with the entry of the catalogue.'),
  details: Details,
}

export const Tags = z.object({
  models: z.array(z.object({ ...LISTED, modified_at: z.iso.datetime() })),
})
export type Tags = z.infer<typeof Tags>

export const Loaded = z.object({
  models: z.array(
    z.object({
      ...LISTED,
      expires_at: z.iso.datetime(),
      size_vram: z.number(),
      context_length: z.int(),
    }),
  ),
})
export type Loaded = z.infer<typeof Loaded>

export const Shown = z.object({
  license: z.string(),
  modelfile: z.string(),
  parameters: z.string(),
  template: z.string(),
  details: Details,
  model_info: z.record(z.string(), z.unknown()),
  capabilities: z.array(z.enum(['completion', 'tools', 'embedding'])),
  modified_at: z.iso.datetime(),
})
export type Shown = z.infer<typeof Shown>

export const ShowRequest = z.object({
  model: z.string().max(256).exactOptional(),
  /** The older name of the field. */
  name: z.string().max(256).exactOptional(),
})

export const VERSION_DOCS: RouteDocs = {
  id: 'ollama-version',
  tag: TAG,
  summary: "Version of Ollama's API that these routes follow.",
  answer: z.object({ version: z.string() }),
}
export const TAGS_DOCS: RouteDocs = {
  id: 'ollama-tags',
  tag: TAG,
  summary: "Ollama's list of the models that the key's tier may use.",
  answer: Tags,
}
export const PS_DOCS: RouteDocs = {
  id: 'ollama-ps',
  tag: TAG,
  summary: "Ollama's list of the models that are loaded.",
  answer: Loaded,
}
export const SHOW_DOCS: RouteDocs = {
  id: 'ollama-show',
  tag: TAG,
  summary: "Ollama's description of a model.",
  body: ShowRequest,
  example: { model: 'model-a:7b' },
  answer: Shown,
}
export const refusalDocs = (id: string): RouteDocs => ({
  id: `ollama-${id}`,
  tag: TAG,
  summary: `Ollama's ${id}, which is always rejected: operators manage models with \`shoal models\`.`,
  answer: z.object({ error: z.string() }),
  status: 403,
})
