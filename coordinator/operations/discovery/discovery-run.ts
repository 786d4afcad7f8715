import * as z from 'zod'
import { DISCOVERY_MODULES } from '../../../discovery/modules.ts'
import { defineOperation } from '../operation.ts'
import { findModule, ModuleOutcome, runModules } from './run-modules.ts'

export default defineOperation({
  id: 'discovery-run',
  description: 'Run several modules with their default inputs, as a task.',
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
      .describe('Ids of modules: network-map, mdns-scan.'),
  }),
  examples: [{ modules: ['network-map'] }],
  output: z.object({
    outcome: z.enum(['complete', 'failed']).describe('`failed` when one of the modules failed.'),
    failed: z.array(z.string()).describe('Ids of the modules that failed.'),
    modules: z.array(ModuleOutcome),
  }),
  success: { field: 'outcome', codes: { complete: 0, failed: 69 } },
  run: async ({ modules }, context) => {
    const outcomes = await runModules(modules.map(findModule), context)
    const failed = outcomes.filter(({ outcome }) => outcome === 'failed').map(each => each.module)
    return {
      outcome: failed.length === 0 ? 'complete' : 'failed',
      failed,
      modules: outcomes,
    } as const
  },
})
