import * as z from 'zod'
import { findEntryFault } from '../../../../../discovery/scope.ts'
import type { FleetViews } from '../../../../fleet/cells/open.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { listScopeEntries, ScopeEntryView } from './discovery-document.ts'

/** Most proposals of a list; a fleet of thousands of cells has thousands of subnets. */
const MAX_PROPOSALS = 500

export default defineOperation({
  id: 'discovery-scope-list',
  description:
    'List what active modules may contact, and the subnets of connected cells as proposals.',
  method: 'GET',
  path: '/v1/discovery/scope',
  access: 'operator',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'scope list' },
  input: z.strictObject({}),
  output: z.object({
    entries: z.array(ScopeEntryView),
    /** Subnets of the cells' own interfaces, which are scanned only when they are added. */
    proposals: z.array(
      z.object({
        cell_id: z.string(),
        network: z.string(),
        needs_force: z.boolean().describe('True for a network that is larger than a /22.'),
      }),
    ),
  }),
  run: async (_input, { configs, fleet }: ControlViews & FleetViews) => {
    const entries = configs.list().flatMap(listScopeEntries)
    const known = new Set(entries.map(({ target }) => target))
    const proposals = [...fleet.cells()].flatMap(({ id, announce }) =>
      (announce?.networks ?? [])
        .filter(network => !known.has(network))
        .map(network => ({
          cell_id: id,
          network,
          needs_force: findEntryFault({ target: network }) !== undefined,
        })),
    )
    return { entries, proposals: proposals.slice(0, MAX_PROPOSALS) }
  },
})
