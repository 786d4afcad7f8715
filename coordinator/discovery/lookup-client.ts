import type { LookupSettings } from '../../discovery/lookup-run.ts'
import type { UpstreamAnswer, UpstreamRequest } from '../../discovery/upstreams/client.ts'

/** Access to outside sources, with their caches and their rates. */
export interface LookupClient {
  /** @throws UpstreamError when neither the source nor its cache answers */
  ask(request: UpstreamRequest, signal: AbortSignal): Promise<UpstreamAnswer>
  settings: LookupSettings
}
