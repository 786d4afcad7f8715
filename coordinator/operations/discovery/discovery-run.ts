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
  cli: { group: 'discover', verb: 'scan' },
  input: z.strictObject({
    modules: z
      .array(z.string().max(64))
      .min(1)
      .max(DISCOVERY_MODULES.length)
      .describe('Ids of modules: network-map, mdns-scan.'),
  }),
  examples: [{ modules: ['network-map'] }],
  output: z.object({ modules: z.array(ModuleOutcome) }),
  run: async ({ modules }, context) => ({
    modules: await runModules(modules.map(findModule), context),
  }),
})
