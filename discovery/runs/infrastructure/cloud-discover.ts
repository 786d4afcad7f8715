import * as z from 'zod'
import type { LookupContext, LookupRun } from '../../lookup-run.ts'
import type { CloudInventory, CloudResource } from '../../modules/infrastructure/cloud-discover.ts'
import { UpstreamError } from '../../upstreams/client.ts'
import type { Source } from '../../upstreams/source.ts'
import digitalocean from '../../upstreams/sources/digitalocean.ts'
import hetzner from '../../upstreams/sources/hetzner.ts'
import { readAnswer } from '../../upstreams/try-sources.ts'
import { readDroplets } from './cloud/read-digitalocean.ts'
import { HETZNER_KINDS, readHetzner } from './cloud/read-hetzner.ts'

interface Input {
  provider: CloudInventory['provider']
}

const SOURCES: Readonly<Record<CloudInventory['provider'], Source>> = { hetzner, digitalocean }
/** Pages of one kind; more resources than these have are left out, with a warning. */
const MAX_PAGES = 20
const MAX_RESOURCES = 2000

const listResources: LookupRun<Input, CloudInventory> = async ({ provider }, context) => {
  const source = SOURCES[provider]
  if (!context.settings.hasKey(source.id)) {
    context.warn('auth_missing', `set upstreams.sources.${source.id}.key or key_file`, source.name)
    return toInventory(provider, false, [])
  }
  const found = provider === 'hetzner' ? await listHetzner(context) : await listDroplets(context)
  return toInventory(provider, true, found.slice(0, MAX_RESOURCES))
}
export default listResources

const toInventory = (
  provider: CloudInventory['provider'],
  configured: boolean,
  resources: CloudResource[],
): CloudInventory => {
  const servers = resources.filter(({ kind }) => kind === 'server')
  const costs = resources.flatMap(({ monthly_cost_eur: cost }) => cost ?? [])
  return {
    provider,
    configured,
    region_count: configured ? new Set(resources.flatMap(({ region }) => region ?? [])).size : null,
    resources,
    totals: {
      servers: configured ? servers.length : null,
      running: configured ? servers.filter(isRunning).length : null,
      monthly_cost_eur:
        costs.length === 0 ? null : Math.round(costs.reduce((a, b) => a + b, 0) * 100) / 100,
    },
  }
}

const isRunning = ({ status }: CloudResource): boolean =>
  status === 'running' || status === 'active'

/** A kind that the key may not read is left out; servers must be readable. */
const listHetzner = async (context: LookupContext): Promise<CloudResource[]> => {
  const found: CloudResource[] = []
  for (const kind of HETZNER_KINDS) {
    try {
      found.push(...(await listKind(kind, context)))
    } catch (error) {
      const isOptional = kind !== 'servers' && error instanceof UpstreamError
      if (!isOptional || context.signal.aborted) throw error
      context.warn('partial_result', `${kind} are skipped: ${error.message}`, hetzner.name)
    }
  }
  return found
}

const Page = z.object({
  meta: z.object({ pagination: z.object({ next_page: z.int().nullish() }) }).nullish(),
})

const listKind = async (
  kind: (typeof HETZNER_KINDS)[number],
  context: LookupContext,
): Promise<CloudResource[]> => {
  const found: CloudResource[] = []
  for (let page = 1; page <= MAX_PAGES; page++) {
    const query = { page, per_page: 50 }
    const { body } = await context.ask({ source: hetzner, path: `/${kind}`, query, form: 'json' })
    found.push(...readAnswer(hetzner, () => readHetzner(kind, body)))
    const { meta } = readAnswer(hetzner, () => Page.parse(body))
    if (typeof meta?.pagination.next_page !== 'number') return found
  }
  context.warn('partial_result', `only ${MAX_PAGES} pages of ${kind} were read`, hetzner.name)
  return found
}

const listDroplets = async (context: LookupContext): Promise<CloudResource[]> => {
  const found: CloudResource[] = []
  for (let page = 1; page <= MAX_PAGES; page++) {
    const query = { page, per_page: 100 }
    const request = { source: digitalocean, path: '/droplets', query, form: 'json' as const }
    const { body } = await context.ask(request)
    const { resources, hasNext } = readAnswer(digitalocean, () => readDroplets(body))
    found.push(...resources)
    if (!hasNext) return found
  }
  context.warn('partial_result', `only ${MAX_PAGES} pages were read`, digitalocean.name)
  return found
}
