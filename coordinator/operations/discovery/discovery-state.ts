import * as z from 'zod'
import { isScan } from '../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../discovery/modules.ts'
import type { Context } from '../context.ts'

/** State of discovery for every caller: counts, and nothing about single things. */
export const DiscoveryState = z.object({
  modules: z.int(),
  scans: z.int().describe('Modules that run on cells.'),
  lookups: z.int().describe('Modules that read public data.'),
  domains: z.array(z.string()),
  entities: z.int(),
  entities_present: z.int(),
  last_run_at: z.iso.datetime().nullable(),
})

export const readDiscoveryState = async ({
  registry,
}: Pick<Context, 'registry'>): Promise<z.input<typeof DiscoveryState>> => {
  const counts = await registry.countBy('is_present')
  const [newest] = await registry.listScanners(1)
  const scans = DISCOVERY_MODULES.filter(isScan).length
  const present = counts['1'] ?? 0
  return {
    modules: DISCOVERY_MODULES.length,
    scans,
    lookups: DISCOVERY_MODULES.length - scans,
    domains: [...new Set(DISCOVERY_MODULES.map(({ domain }) => domain))],
    entities: present + (counts['0'] ?? 0),
    entities_present: present,
    last_run_at: newest ? new Date(newest.at).toISOString() : null,
  }
}
