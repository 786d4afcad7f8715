import * as z from 'zod'
import { optional } from './optional.ts'

/**
 * How long and under which key OpenAI is to keep a prompt (openai/openai-openapi, PromptCacheOptions).
 * Accepted and not used: an engine keeps the prompts it has room for, which changes no answer.
 */
export const PROMPT_CACHE = {
  prompt_cache_key: optional(z.string().max(512)),
  prompt_cache_retention: optional(z.string().max(64)),
  prompt_cache_options: optional(
    z.strictObject({
      mode: optional(z.enum(['implicit', 'explicit'])),
      ttl: optional(z.string().max(64)),
    }),
  ),
}
