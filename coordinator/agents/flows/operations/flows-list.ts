import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { FlowViews } from '../open.ts'
import { FlowView, flowViewOf } from './flow-view.ts'

export default defineOperation({
  id: 'flows-list',
  description: 'List the configured flows with their steps.',
  method: 'GET',
  path: '/v1/flows',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({ flows: z.array(FlowView) }),
  run: (_input, { flows }: FlowViews) => ({
    flows: Object.entries(flows.flows).map(([id, flow]) => flowViewOf(id, flow)),
  }),
})
