import * as z from 'zod'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import {
  AppliesTo,
  changeScope,
  createEntry,
  ScopeEntryView,
  Target,
} from './discovery-document.ts'

export default defineOperation({
  id: 'discovery-scope-add',
  description:
    'Allow active modules to contact a network, an address or a name from all cells, from those with a tag, or from one.',
  method: 'POST',
  path: '/v1/discovery/scope',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'scope add', words: ['target'] },
  reasons: ['public_network'],
  input: z.strictObject({
    target: Target,
    force: z
      .boolean()
      .default(false)
      .describe(
        'Accept a network of public addresses, or one that is larger than a /22, up to a /8.',
      ),
    ...AppliesTo,
  }),
  examples: [{ target: '192.168.1.0/24' }],
  output: z.object({ entries: z.array(ScopeEntryView) }),
  run: async ({ target, force, ...appliesTo }, context: Context & ControlViews) => {
    const entry = createEntry(target, force)
    const add = (entries: readonly { target: string }[]) => [
      ...entries.filter(each => each.target !== entry.target),
      entry,
    ]
    return changeScope(appliesTo, add, context)
  },
})
