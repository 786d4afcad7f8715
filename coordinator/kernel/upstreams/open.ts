import { join } from 'node:path'
import { openUpstreams as openClient } from '../../../discovery/upstreams/open.ts'
import type { UpstreamSettings } from '../../../discovery/upstreams/settings.ts'
import type { Upstreams } from '../../../discovery/upstreams/upstreams.ts'
import { parseAllowed } from '../../../shared/outbound/allow-list.ts'
import type { OnReload } from '../../../shared/reload-on-hangup.ts'
import type { Base } from '../base/base.ts'
import type { Budgets } from '../budgets/budgets.ts'
import { ownAddresses } from '../outbound/open.ts'
import type { Outbound } from '../outbound/outbound-config.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { SiteConfig, UpstreamsConfig } from './upstreams-config.ts'

type ClientParts = Parameters<typeof openClient>[0]

interface PublicAddresses {
  provider: { url?: string | undefined }
  public: { base_url?: string | undefined }
}

interface LookupConfig extends PublicAddresses {
  upstreams: UpstreamsConfig
  site: SiteConfig
}

interface UpstreamDomainParts extends Pick<Base, 'stack' | 'logger' | 'now'> {
  config: LookupConfig & { state_dir: string; outbound: Outbound }
  onReload?: OnReload<LookupConfig> | undefined
  budgets: Pick<Budgets, 'upstreamAnswers'>
  replicas: Pick<Replicas, 'live'>
  metrics: {
    upstreams: {
      countRequest: ClientParts['onRequest']
      noteAnswer: ClientParts['onAnswer']
    }
  }
}

/** Outside sources that operations may ask. */
export interface UpstreamViews {
  upstreams: Pick<Upstreams, 'ask' | 'isOffline' | 'settings'>
}

/** The client of outside sources, with answers and limits in a folder of this coordinator. */
export const openUpstreams = async (
  parts: UpstreamDomainParts,
): Promise<{ lookupClient: Upstreams; views: UpstreamViews }> => {
  const { config, onReload, budgets, replicas, metrics, stack, logger, now } = parts
  const { outbound } = config
  let settings = toSettings(config)
  onReload?.(RELOADED, reloaded => {
    settings = toSettings(reloaded)
  })
  const upstreams = await openClient({
    folder: join(config.state_dir, 'upstreams'),
    readSettings: () => settings,
    cacheBytes: config.upstreams.cache_bytes,
    rules: {
      allowed: outbound.allow.flatMap(text => parseAllowed(text) ?? []),
      allowHttp: outbound.allow_http,
      ownAddresses,
    },
    now,
    countCoordinators: () => replicas.live().length,
    admit: (source, bytes) => admitAnswer(budgets, source, bytes),
    onRequest: metrics.upstreams.countRequest,
    onAnswer: metrics.upstreams.noteAnswer,
    onFault: error =>
      logger.warn({ err: error }, 'answers of outside sources are not kept on disk'),
  })
  stack.defer(() => upstreams.close())
  return { lookupClient: upstreams, views: { upstreams } }
}

/** Keys that a reload applies; the others of them are read once. */
const RELOADED = ['site', 'upstreams', '-upstreams.auto_run', '-upstreams.cache_bytes']

const toSettings = (config: LookupConfig): UpstreamSettings => {
  const { upstreams, site } = config
  return { ...upstreams, site, contact: upstreams.contact ?? findContact(config) }
}

/** Sources that are asked too much must find whom to tell. */
const findContact = ({ provider, public: addresses }: PublicAddresses): string | undefined =>
  provider.url ?? addresses.base_url

const admitAnswer = (
  { upstreamAnswers }: Pick<Budgets, 'upstreamAnswers'>,
  source: string,
  bytes: number,
): (() => void) | undefined => {
  const share = upstreamAnswers.open({ source })
  return share.take(bytes) ? () => share.close() : undefined
}
