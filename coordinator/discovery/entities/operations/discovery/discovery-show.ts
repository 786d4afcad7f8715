import * as z from 'zod'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { DiscoveryViews } from '../../open.ts'
import type { EntityViews } from '../../open-entities.ts'
import { DiscoveryState, readDiscoveryState } from './discovery-state.ts'

export default defineOperation({
  id: 'discovery-show',
  description: 'Show the state of discovery: modules, numbers of entities, and the last run.',
  method: 'GET',
  path: '/a2a/discovery',
  access: 'none',
  effect: 'read',
  tool: false,
  cli: { group: 'discover', verb: 'status' },
  input: z.strictObject({}),
  output: DiscoveryState,
  run: (_input, context: DiscoveryViews & EntityViews) => readDiscoveryState(context),
})
