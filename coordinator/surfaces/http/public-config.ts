import * as z from 'zod'
import { webUrl } from '../../kernel/base/web-url.ts'
import type { HttpConfig } from './http-config.ts'

/** Addresses under which clients reach the coordinator. */
export const PublicConfig = z.strictObject({
  base_url: webUrl.describe('Public address of the REST API.'),
  a2a_url: webUrl.describe('Public address of the agent host; public.base_url by default.'),
  mcp_url: webUrl.describe(
    'Public address of the MCP endpoint; /mcp/ of public.base_url by default.',
  ),
  docs_url: webUrl.describe('Public address of the manual; /docs of public.base_url by default.'),
  portal_url: webUrl.describe('Public address of the portal, when there is one.'),
})
export type PublicConfig = z.output<typeof PublicConfig>

/** Operator of the service. */
export const ProviderConfig = z.strictObject({
  name: z
    .string()
    .min(1)
    .default('shoal')
    .describe('Organization that runs this service; shown on the agent card.'),
  url: webUrl.describe(
    'Address of that organization; public.portal_url or public.base_url by default.',
  ),
})
type ProviderConfig = z.output<typeof ProviderConfig>

/** Settings that determine the listener and the addresses that it publishes. */
export interface ListenerSettings {
  http: HttpConfig
  public: PublicConfig
}

/** Settings that the pages and cards of the coordinator show. */
export interface SurfaceSettings extends ListenerSettings {
  /** Name of this coordinator. */
  name: string
  provider: ProviderConfig
}
