import * as z from 'zod'
import { findEntryFault } from '../../../discovery/scope.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { defineOperation } from '../operation.ts'
import { AppliesTo, changeScope, ScopeEntryView, Target } from './scope-document.ts'

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
  input: z.strictObject({
    target: Target,
    force: z.boolean().default(false).describe('Accept a network that is larger than a /22.'),
    ...AppliesTo,
  }),
  examples: [{ target: '192.168.1.0/24' }],
  output: z.object({ entries: z.array(ScopeEntryView) }),
  run: async ({ target, force, ...appliesTo }, context) => {
    const entry = { target, ...(force && { is_forced: true }) }
    const fault = findEntryFault(entry)
    if (fault !== undefined) throw new ShoalError('invalid_request', fault, { param: 'target' })
    const add = (entries: readonly { target: string }[]) => [
      ...entries.filter(each => each.target !== target),
      entry,
    ]
    return changeScope(appliesTo, add, context)
  },
})
