import * as z from 'zod'
import type { ScanContext, ScanRun } from '../../scan-run.ts'
import { type ApiRow, createRuntimeRow } from './apis/api-row.ts'
import { type ApiPlace, askApi } from './apis/ask-api.ts'
import { PROVIDERS } from './apis/providers.ts'
import { findRuntimes } from './runtimes/find-runtimes.ts'

/** True for a URL of scheme, host, port and path alone. */
const isPlainUrl = (text: string): boolean => {
  const url = URL.parse(text)
  return url === null || `${url.username}${url.password}${url.search}${url.hash}` === ''
}

const PROVIDER_NAMES = PROVIDERS.map(({ name }) => name)

const Endpoint = z
  .strictObject({
    name: z.string().min(1).max(64),
    // credentials in a URL would be part of the findings
    base_url: z
      .url({ protocol: /^https?$/ })
      .max(300)
      .refine(isPlainUrl, 'must have neither credentials nor a query; put the key into key_file'),
    protocol: z.enum(['openai', 'anthropic']).default('openai'),
    key_file: z.string().max(4096).exactOptional().describe('File with the API key.'),
    allow_http: z
      .boolean()
      .default(false)
      .describe('Send the key over http, where anyone on the network path can read it.'),
  })
  .refine(
    ({ base_url, key_file, allow_http }) =>
      key_file === undefined || allow_http || base_url.startsWith('https:'),
    { path: ['base_url'], message: 'an API key is sent over http only with allow_http: true' },
  )

/** `discovery.modules.llm-api-discover` of a cell. */
export const config = z.strictObject({
  endpoints: z
    .array(Endpoint)
    .max(64)
    .default([])
    .describe('LLM APIs that a scan cannot find; their hosts have to be in the scope.'),
  providers: z
    .array(z.strictObject({ name: z.enum(PROVIDER_NAMES), key_file: z.string().max(4096) }))
    .max(64)
    .default([])
    .describe('Public providers to ask for their models; their hosts have to be in the scope.'),
})
type Config = z.output<typeof config>

const run: ScanRun<Record<string, never>, ApiRow> = async function* (_input, context) {
  const settings = config.parse(context.config ?? {})
  const asked = await Promise.all(listPlaces(settings).map(place => askApi(place, context)))
  yield* asked
  yield* findApis(asked, context)
}

export default run

const listPlaces = ({ endpoints, providers }: Config): ApiPlace[] => [
  ...endpoints.map(({ name, base_url, protocol, key_file }) => ({
    name,
    baseUrl: base_url.replace(/\/+$/, ''),
    protocol,
    auth: protocol === 'anthropic' ? ('api_key' as const) : ('bearer' as const),
    region: null,
    isPublic: false,
    ...(key_file === undefined ? {} : { keyFile: key_file }),
  })),
  ...providers.flatMap(({ name, key_file }) =>
    PROVIDERS.filter(each => each.name === name).map(provider => ({
      ...provider,
      isPublic: true,
      keyFile: key_file,
    })),
  ),
]

/** APIs of runtimes, without those that the configuration names already. */
async function* findApis(known: readonly ApiRow[], context: ScanContext): AsyncGenerator<ApiRow> {
  for await (const runtime of findRuntimes(undefined, context)) {
    const isKnown = known.some(
      ({ address, port }) => address === runtime.host && port === runtime.port,
    )
    if (!isKnown) yield createRuntimeRow(runtime)
  }
}
