import * as z from 'zod'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import type { DiscoveryViews } from '../open.ts'
import type { EntityViews } from '../open-entities.ts'
import { DiscoveryState, readDiscoveryState } from './discovery/discovery-state.ts'

export default defineSkill({
  id: 'discovery-status',
  group: 'discovery',
  name: 'Discovery status',
  description: 'Show the modules of discovery, the number of entities found, and the last run.',
  tags: ['discovery', 'status'],
  access: 'none',
  effect: 'read',
  input: z.strictObject({}),
  examples: [{}],
  output: DiscoveryState,
  run: (_input, context: DiscoveryViews & EntityViews) => readDiscoveryState(context),
})
