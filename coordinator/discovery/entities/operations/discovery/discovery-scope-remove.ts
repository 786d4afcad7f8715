import * as z from 'zod'
import { normaliseTarget } from '../../../../../discovery/scope.ts'
import { ShoalError } from '../../../../../shared/errors.ts'
import type { ControlViews } from '../../../../fleet/control/open.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { AppliesTo, changeScope, ScopeEntryView, Target } from './discovery-document.ts'

export default defineOperation({
  id: 'discovery-scope-remove',
  description: 'Take a network, an address or a name out of the scope of active modules.',
  method: 'DELETE',
  path: '/v1/discovery/scope',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  cli: { group: 'discover', verb: 'scope remove', words: ['target'] },
  input: z.strictObject({ target: Target, ...AppliesTo }),
  output: z.object({ entries: z.array(ScopeEntryView) }),
  run: async ({ target, ...appliesTo }, context: Context & ControlViews) => {
    const wanted = normaliseTarget(target)
    const remove = (entries: readonly { target: string }[]) => {
      const kept = entries.filter(each => normaliseTarget(each.target) !== wanted)
      if (kept.length < entries.length) return kept
      throw new ShoalError('not_found', `${target} is not in this scope`, {
        param: 'target',
        next: 'shoal discover scope list',
      })
    }
    return changeScope(appliesTo, remove, context)
  },
})
