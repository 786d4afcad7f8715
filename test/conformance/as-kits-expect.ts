import { randomUUID } from 'node:crypto'
import type { SendMessageRequest } from '@a2a-js/sdk'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { A2aCall } from '../../coordinator/surfaces/a2a/call.ts'
import { ShoalError } from '../../shared/errors.ts'

/**
 * What the kits expect and no agent with keys and idempotence does. They name different messages by
 * one `messageId` and expect a task for each; the id keeps its beginning, which says how the turn
 * goes. And they ask without a key: that of 1.0 then wants the extended card, that of 0.3 none.
 */
export const asKitsExpect = (handler: A2ARequestHandler, call: A2aCall): A2ARequestHandler => ({
  ...handler,
  sendMessage: (request, context) => handler.sendMessage(replaceMessageId(request), context),
  sendMessageStream: (request, context) =>
    handler.sendMessageStream(replaceMessageId(request), context),
  getAuthenticatedExtendedAgentCard: async (request, context) => {
    if (call.version === '0.3') throw new ShoalError('auth_required', 'the card needs a key')
    return handler.getAuthenticatedExtendedAgentCard(request, context)
  },
})

const replaceMessageId = (request: SendMessageRequest): SendMessageRequest => {
  const { message } = request
  if (!message?.messageId) return request
  return { ...request, message: { ...message, messageId: `${message.messageId}-${randomUUID()}` } }
}
