import type { AgentCard } from '@a2a-js/sdk'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { OperationTasks } from '../../calls/tasks/operation-tasks.ts'
import { type A2aCall, tenantFor } from './call.ts'
import type { Executor } from './executor.ts'
import type { HideMessage } from './hidden-message.ts'
import { followMethods } from './methods/follow.ts'
import { manageMethods } from './methods/manage.ts'
import { sendMethods } from './methods/send.ts'
import { TaskScope, type TaskScopeParts } from './methods/task-scope.ts'
import { hookHandlers } from './push/hook-handlers.ts'
import type { PushConfigs } from './push/push-configs.ts'

interface RequestHandlerParts extends TaskScopeParts {
  cancel: OperationTasks['cancel']
  executor: Executor
  hideMessage: HideMessage
  push: PushConfigs
  card: () => AgentCard
  /** The card with the skills that the key of the call may call. */
  extendedCard: (call: A2aCall) => AgentCard
}

/**
 * The methods of A2A for one call; both versions and both bindings end here. The tenant is the
 * key's: a request that names another one is refused, and a task of another one is not found.
 */
export const requestHandler = (parts: RequestHandlerParts, call: A2aCall): A2ARequestHandler => {
  const scope = new TaskScope(parts, call)
  const tenantOf = scope.tenantOf.bind(scope)
  return {
    ...sendMethods(parts, scope),
    ...followMethods(scope),
    ...manageMethods(scope, parts.cancel),
    ...hookHandlers({ push: parts.push, call, tenantOf }),
    getAgentCard: async () => parts.card(),
    getAuthenticatedExtendedAgentCard: async ({ tenant }) =>
      parts.extendedCard({ ...call, tenantId: tenantFor(call, tenant) }),
  }
}
