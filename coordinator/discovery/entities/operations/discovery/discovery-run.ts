import * as z from 'zod'
import type { DiscoveryModule } from '../../../../../discovery/module.ts'
import { ALL_MODULES, DISCOVERY_MODULES } from '../../../../../discovery/modules.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DiscoveryViews } from '../../open.ts'
import { FoundHost, listHosts } from './list-hosts.ts'
import { findModule, ModuleOutcome, type ModuleRows, runModules } from './run-modules.ts'

/**
 * Modules that find what is there, in this order: the sweep fills the tables of neighbours that the
 * map reads.
 */
const WHAT_IS_THERE = ['host-scan', 'network-map', 'mdns-scan', 'runtime-discover']

const listDefaultModules = (): DiscoveryModule[] =>
  WHAT_IS_THERE.flatMap(id => ALL_MODULES.find(module => module.id === id) ?? [])

export default defineOperation({
  id: 'discovery-run',
  description:
    'Find what is there: sweep the scope, neighbours, common ports, fingerprints, names. Or run the named modules.',
  method: 'POST',
  path: '/a2a/discovery/run',
  access: 'operator',
  effect: 'read',
  tool: false,
  openWorld: true,
  mode: 'task',
  timeoutSeconds: 3600,
  cli: { group: 'discover', verb: 'scan', words: ['modules'] },
  input: z.strictObject({
    modules: z
      .array(z.enum(DISCOVERY_MODULES.map(({ id }) => id)))
      .min(1)
      .max(DISCOVERY_MODULES.length)
      .exactOptional()
      .describe('Ids of modules: network-map, mdns-scan. Without them, what is there is found.'),
  }),
  examples: [{}, { modules: ['network-map'] }],
  output: z.object({
    outcome: z.enum(['complete', 'failed']).describe('`failed` when one of the modules failed.'),
    failed: z.array(z.string()).describe('Ids of the modules that failed.'),
    hosts: z.array(FoundHost).describe('Machines that the modules found.'),
    limited_by: z
      .array(z.string())
      .describe('Targets that the scope or another limit excluded, and how to add them.'),
    modules: z.array(ModuleOutcome),
  }),
  success: { field: 'outcome', codes: { complete: 0, failed: 69 } },
  run: async ({ modules }, context: Context & DiscoveryViews) => {
    const chosen = modules?.map(findModule) ?? listDefaultModules()
    const found: ModuleRows[] = []
    const outcomes = await runModules(chosen, context, each => found.push(each))
    const failed = outcomes.filter(({ outcome }) => outcome === 'failed').map(each => each.module)
    const outcome = failed.length === 0 ? ('complete' as const) : ('failed' as const)
    const limited_by = [...new Set(outcomes.flatMap(({ warnings }) => warnings))]
    return { outcome, failed, hosts: listHosts(found), limited_by, modules: outcomes }
  },
})
