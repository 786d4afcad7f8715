import type { SendMessageRequest, StreamResponse } from '@a2a-js/sdk'
import type { A2ARequestHandler } from '@a2a-js/sdk/server'
import type { Message, Task } from '../../../calls/tasks/task.ts'
import { isSettled } from '../../../calls/tasks/task-state.ts'
import { messageToA2a } from '../a2a-shapes.ts'
import { type AcceptedMessage, type AcceptParts, acceptMessage } from './accept.ts'
import { eventsOf, followTask, stateIn } from './follow.ts'
import type { TaskScope } from './task-scope.ts'

/** The methods that send a message. */
export const sendMethods = (
  parts: AcceptParts,
  scope: TaskScope,
): Pick<A2ARequestHandler, 'sendMessage' | 'sendMessageStream'> => ({
  sendMessage: async request => {
    const accepted = await acceptMessage(parts, scope, request)
    if ('answer' in accepted) return messageToA2a(accepted.answer)
    const { historyLength, returnImmediately } = request.configuration ?? {}
    const { begun, tenant } = accepted
    await (returnImmediately === true ? begun.start() : waitUntilSettled(scope, accepted))
    return scope.showNow(begun.taskId, tenant, historyLength)
  },

  async *sendMessageStream(request: SendMessageRequest) {
    const accepted = await acceptMessage(parts, scope, request)
    if ('answer' in accepted) {
      const value = messageToA2a(accepted.answer)
      yield { payload: { $case: 'message', value } } as StreamResponse
      return
    }
    const { begun, tenant, message } = accepted
    yield* eventsOf(scope, begun.taskId, tenant, {
      start: begun.start,
      historyLength: request.configuration?.historyLength,
      isOver: task =>
        task.status.state === 'input-required' && (begun.again || hasMessage(task, message)),
    })
  },
})

type Begun = Extract<AcceptedMessage, { tenant: string }>

/** Starts the turn of a message; resolves when it has come to a state that settles the task. */
const waitUntilSettled = async (
  scope: TaskScope,
  { begun, tenant, message }: Begun,
): Promise<void> => {
  if (begun.again) await begun.start()
  await followTask(scope, begun.taskId, tenant, async ({ task, events }) => {
    void begun.start()
    const isOver = begun.again || hasMessage(task, message)
    if (isOver && isSettled(task.status.state)) return
    for (let event = await events.next(); event !== undefined; event = await events.next())
      if (isSettled(stateIn(event))) return
  })
}

/** The turn of the message has begun: the task took it into its history together with the first state. */
const hasMessage = ({ history }: Task, { messageId }: Message): boolean =>
  history.some(each => each.messageId === messageId)
