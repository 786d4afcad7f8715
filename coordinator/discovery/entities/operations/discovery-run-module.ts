import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { runModule } from '../../modules/operations/module-answer.ts'
import type { DiscoveryViews } from '../open.ts'
import { findModule, readDefaultInput } from './discovery/run-modules.ts'

export default defineSkill({
  id: 'discovery-run-module',
  group: 'discovery',
  name: 'Run a discovery module',
  description: 'Run one discovery module with its default input, and return its answer.',
  tags: ['discovery', 'scan'],
  access: 'operator',
  effect: 'read',
  openWorld: true,
  onCell: true,
  mode: 'stream',
  timeoutSeconds: 630,
  input: z.strictObject({
    module: z.string().max(64).describe('Id of the module: network-map.'),
  }),
  examples: [{ module: 'network-map' }],
  output: z.object({ module: z.string(), answer: z.any().describe('The answer of its skill.') }),
  run: async ({ module: id }, context: Context & DiscoveryViews) => {
    const module = findModule(id)
    return { module: id, answer: await runModule(module, readDefaultInput(module), context) }
  },
})
