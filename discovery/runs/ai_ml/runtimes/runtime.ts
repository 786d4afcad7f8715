/** A model that a runtime offers, as it says itself; what it does not say is null. */
export interface RuntimeModel {
  id: string
  loaded: boolean
  size_bytes: number | null
  vram_bytes: number | null
  parameters: string | null
  quantization: string | null
  context_length: number | null
  type: 'llm' | 'embedding' | 'vision' | 'other'
}

export interface RuntimeLoad {
  running: number | null
  queued: number | null
  kv_cache_percent: number | null
  tokens_per_s: number | null
}

export interface Runtime {
  url: string
  host: string
  port: number
  kind: string
  version: string | null
  state: 'ready' | 'loading' | 'degraded' | 'auth_required'
  is_open: boolean | null
  confidence_percent: number
  evidence: string[]
  tls: boolean
  models: RuntimeModel[]
  load: RuntimeLoad
}

export const NO_LOAD: RuntimeLoad = {
  running: null,
  queued: null,
  kv_cache_percent: null,
  tokens_per_s: null,
}

/** Most models of a runtime that a row lists. */
export const MAX_MODELS = 128
