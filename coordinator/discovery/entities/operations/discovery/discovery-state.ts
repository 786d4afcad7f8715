import * as z from 'zod'
import { isScan } from '../../../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../../../discovery/modules.ts'
import type { DiscoveryViews } from '../../open.ts'
import type { EntityViews } from '../../open-entities.ts'

/** State of discovery for every caller: counts, and nothing about single things. */
export const DiscoveryState = z.object({
  modules: z.int(),
  scans: z.int().describe('Modules that run on cells.'),
  lookups: z.int().describe('Modules that read public data.'),
  domains: z.array(z.string()),
  entities: z.int(),
  entities_present: z.int(),
  last_run_at: z.iso.datetime().nullable(),
  auto_run: z
    .object({
      cells: z.int().describe('Cells that have run modules by themselves in their current hour.'),
      cells_at_limit: z.int().describe('Cells whose hourly budget is used up.'),
      findings: z.int(),
      active_seconds: z.int().describe('Time of runs that contact machines or use a radio.'),
    })
    .describe('Use of the hourly budgets of cells, as they reported it to this coordinator.'),
})

export const readDiscoveryState = async ({
  entityQuery,
  autoRunUses,
}: Pick<DiscoveryViews, 'autoRunUses'> & Pick<EntityViews, 'entityQuery'>): Promise<
  z.input<typeof DiscoveryState>
> => {
  const counts = await entityQuery.countBy('is_present')
  const [newest] = await entityQuery.listScanners(1)
  const scans = DISCOVERY_MODULES.filter(isScan).length
  const present = counts['1'] ?? 0
  const { cells, cellsAtLimit, findings, activeSeconds } = autoRunUses.summarise()
  return {
    modules: DISCOVERY_MODULES.length,
    scans,
    lookups: DISCOVERY_MODULES.length - scans,
    domains: [...new Set(DISCOVERY_MODULES.map(({ domain }) => domain))],
    entities: present + (counts['0'] ?? 0),
    entities_present: present,
    last_run_at: newest ? new Date(newest.at).toISOString() : null,
    auto_run: { cells, cells_at_limit: cellsAtLimit, findings, active_seconds: activeSeconds },
  }
}
