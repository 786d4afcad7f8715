import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { FlowViews } from '../open.ts'
import { RunView, runViewOf } from './flow-view.ts'
import { starterOf } from './starter.ts'

export default defineOperation({
  id: 'flows-run',
  description: 'Start a flow. Its steps run from the queue, with the rights of your key.',
  method: 'POST',
  path: '/v1/flows/{flow}/runs',
  access: 'operator',
  effect: 'write',
  tool: false,
  status: 201,
  input: z.strictObject({ flow: z.string().max(64).describe('Id of the flow.') }),
  output: RunView,
  run: async ({ flow }, context: Context & FlowViews) => {
    const { flows } = context
    return runViewOf(await flows.start(flows.flow(flow), starterOf(context)))
  },
})
