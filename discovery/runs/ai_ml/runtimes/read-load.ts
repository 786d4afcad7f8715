import { NO_LOAD, type RuntimeLoad } from './runtime.ts'
import type { RuntimePort } from './runtime-port.ts'

/** Names of metrics, any of which may be absent: runtimes rename and hide them between versions. */
interface LoadMetrics {
  running: readonly string[]
  queued: readonly string[]
  /** A ratio from 0 to 1. */
  kvCache: readonly string[]
  tokensPerSecond: readonly string[]
}

/** Metrics by the documentation of each runtime. */
export const LOAD_METRICS = {
  vllm: {
    running: ['vllm:num_requests_running'],
    queued: ['vllm:num_requests_waiting'],
    kvCache: ['vllm:kv_cache_usage_perc', 'vllm:gpu_cache_usage_perc'],
    tokensPerSecond: [],
  },
  sglang: {
    running: ['sglang:num_running_reqs'],
    queued: ['sglang:num_queue_reqs'],
    kvCache: ['sglang:token_usage'],
    tokensPerSecond: ['sglang:gen_throughput'],
  },
  'llama-cpp': {
    running: ['llamacpp:requests_processing'],
    queued: ['llamacpp:requests_deferred'],
    kvCache: ['llamacpp:kv_cache_usage_ratio'],
    tokensPerSecond: ['llamacpp:predicted_tokens_seconds'],
  },
  tgi: {
    running: ['tgi_batch_current_size'],
    queued: ['tgi_queue_size'],
    kvCache: [],
    tokensPerSecond: [],
  },
} as const satisfies Record<string, LoadMetrics>

/** Reads the load of a runtime from its metrics; nulls where it has none. */
export const readLoad = async (endpoint: RuntimePort, names: LoadMetrics): Promise<RuntimeLoad> => {
  const reply = await endpoint.get('/metrics')
  if (reply?.status !== 200) return NO_LOAD
  const values = parseMetrics(reply.text)
  const find = (candidates: readonly string[]): number | null => {
    const name = candidates.find(each => values.has(each))
    return name === undefined ? null : (values.get(name) ?? null)
  }
  const ratio = find(names.kvCache)
  return {
    running: find(names.running),
    queued: find(names.queued),
    kv_cache_percent: ratio === null ? null : Math.min(100, Math.round(ratio * 1000) / 10),
    tokens_per_s: find(names.tokensPerSecond),
  }
}

/** Sums of the samples by name (Prometheus text format); negative ones and NaN are left out. */
export const parseMetrics = (text: string): Map<string, number> => {
  const sums = new Map<string, number>()
  for (const line of text.split('\n')) {
    const [, name, value] = /^([\w:]{1,128})(?:\{[^}]{0,2000}\})? (\S{1,32})/.exec(line) ?? []
    const number = Number(value)
    if (name !== undefined && number >= 0) sums.set(name, (sums.get(name) ?? 0) + number)
  }
  return sums
}
