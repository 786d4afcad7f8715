import * as z from 'zod'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { AppliesTo, AutoRunView, changeDiscovery, listAutoRun } from './discovery-document.ts'

export default defineOperation({
  id: 'discovery-auto-run-set',
  description:
    'Turn scheduled runs of modules on or off for all cells, for the cells with a tag, or for one cell. The setting of a cell overrides that of its tags, and both override that of the fleet.',
  method: 'PUT',
  path: '/v1/discovery/auto-run',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'auto-run', words: ['state'] },
  input: z.strictObject({
    state: z.enum(['on', 'off']).describe('`on` or `off`.'),
    ...AppliesTo,
  }),
  examples: [{ state: 'on' }],
  output: z.object({ settings: z.array(AutoRunView) }),
  run: async ({ state, ...appliesTo }, context: Context & ControlViews) => {
    const change = (settings: object) => ({ ...settings, auto_run: state === 'on' })
    return { settings: listAutoRun(await changeDiscovery(appliesTo, change, context)) }
  },
})
