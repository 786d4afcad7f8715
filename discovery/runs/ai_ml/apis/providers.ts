/** A public provider of models. */
export interface Provider {
  name: string
  /** Address by its API reference, without a trailing slash. */
  baseUrl: string
  protocol: 'openai' | 'anthropic'
  auth: 'bearer' | 'api_key'
  /** Region of processing by the provider's own documentation; null when it is not one place. */
  region: string | null
}

/** Providers by their API references. */
export const PROVIDERS: readonly Provider[] = [
  {
    name: 'openai',
    baseUrl: 'https://api.openai.com/v1',
    protocol: 'openai',
    auth: 'bearer',
    region: null,
  },
  {
    name: 'anthropic',
    baseUrl: 'https://api.anthropic.com/v1',
    protocol: 'anthropic',
    auth: 'api_key',
    region: null,
  },
  {
    name: 'mistral',
    baseUrl: 'https://api.mistral.ai/v1',
    protocol: 'openai',
    auth: 'bearer',
    region: 'eu',
  },
  {
    name: 'gemini',
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    protocol: 'openai',
    auth: 'bearer',
    region: null,
  },
  {
    name: 'openrouter',
    baseUrl: 'https://openrouter.ai/api/v1',
    protocol: 'openai',
    auth: 'bearer',
    region: null,
  },
  {
    name: 'groq',
    baseUrl: 'https://api.groq.com/openai/v1',
    protocol: 'openai',
    auth: 'bearer',
    region: null,
  },
  {
    name: 'together',
    baseUrl: 'https://api.together.xyz/v1',
    protocol: 'openai',
    auth: 'bearer',
    region: null,
  },
  {
    name: 'deepseek',
    baseUrl: 'https://api.deepseek.com/v1',
    protocol: 'openai',
    auth: 'bearer',
    region: 'cn',
  },
  {
    name: 'scaleway',
    baseUrl: 'https://api.scaleway.ai/v1',
    protocol: 'openai',
    auth: 'bearer',
    region: 'eu',
  },
]
