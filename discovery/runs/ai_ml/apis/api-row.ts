import { isLoopbackAddress } from '../../../net/address-keys.ts'
import type { Runtime } from '../runtimes/runtime.ts'

export interface ApiModel {
  id: string
  context_length: number | null
  input_usd_per_mtok: number | null
  output_usd_per_mtok: number | null
}

export interface ApiRow {
  name: string
  base_url: string
  host: string
  address: string | null
  port: number
  scope: 'self' | 'lan' | 'public'
  protocol: 'openai' | 'anthropic' | 'ollama' | 'other'
  auth: 'none' | 'bearer' | 'api_key' | 'required'
  reachable: boolean | null
  latency_ms: number | null
  models: ApiModel[]
  region: string | null
}

/** Runtimes with an API of their own; every other one has that of OpenAI below `/v1`. */
const OTHER_APIS: Readonly<Record<string, { protocol: ApiRow['protocol']; path: string }>> = {
  ollama: { protocol: 'ollama', path: '' },
  triton: { protocol: 'other', path: '/v2' },
  'docker-model-runner': { protocol: 'openai', path: '/engines/v1' },
}

/** The API of a runtime that a scan found. */
export const createRuntimeRow = (runtime: Runtime): ApiRow => {
  const { protocol, path } = OTHER_APIS[runtime.kind] ?? { protocol: 'openai', path: '/v1' }
  return {
    name: runtime.kind,
    base_url: `${runtime.url}${path}`,
    host: runtime.host,
    address: runtime.host,
    port: runtime.port,
    scope: isLoopbackAddress(runtime.host) ? 'self' : 'lan',
    protocol,
    auth: runtime.is_open === true ? 'none' : 'required',
    reachable: true,
    latency_ms: null,
    models: runtime.models.map(({ id, context_length }) => ({
      id,
      context_length,
      input_usd_per_mtok: null,
      output_usd_per_mtok: null,
    })),
    region: null,
  }
}
