import * as z from 'zod'
import { optional } from './optional.ts'

/**
 * Retention and key of OpenAI's prompt cache (openai/openai-openapi, PromptCacheOptions). Accepted
 * and ignored: engines cache the prompts they have room for, which changes no answer.
 */
export const PROMPT_CACHE = {
  prompt_cache_key: optional(z.string().max(512)),
  prompt_cache_retention: optional(z.string().max(64)),
  prompt_cache_options: optional(
    z.object({
      mode: optional(z.enum(['implicit', 'explicit'])),
      ttl: optional(z.string().max(64)),
    }),
  ),
}
