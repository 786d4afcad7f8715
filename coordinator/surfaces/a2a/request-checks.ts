import { type ListTasksRequest, type Message, Role, type TaskState } from '@a2a-js/sdk'
import { RequestMalformedError } from '@a2a-js/sdk/errors'

const MAX_ID = 256
const MAX_PARTS = 100

/** A message as the protocol has it: an id, a role, and parts with something in each. */
export const checkMessage = (message: Message | undefined): Message => {
  if (message === undefined) throw new RequestMalformedError('message is missing')
  const { messageId, taskId, contextId, role, parts } = message
  if (messageId === '') throw new RequestMalformedError('message.messageId is missing')
  for (const [name, id] of Object.entries({ messageId, taskId, contextId }))
    if (typeof id !== 'string') throw new RequestMalformedError(`message.${name} must be a string`)
    else if (id.length > MAX_ID)
      throw new RequestMalformedError(`message.${name} is longer than ${MAX_ID} characters`)
  if (role !== Role.ROLE_USER && role !== Role.ROLE_AGENT)
    throw new RequestMalformedError('message.role is missing or unknown')
  if (parts.length === 0) throw new RequestMalformedError('message.parts is empty')
  if (parts.length > MAX_PARTS)
    throw new RequestMalformedError(`message.parts has more than ${MAX_PARTS} parts`)
  if (parts.some(({ content }) => content === undefined))
    throw new RequestMalformedError('a part of the message has no content')
  return message
}

/** Returns the length of the history to show; undefined for the whole history. */
export const historyLengthOf = (length: number | undefined): number | undefined => {
  if (length === undefined || (Number.isInteger(length) && length >= 0)) return length
  throw new RequestMalformedError('historyLength must be an integer, 0 or more')
}

const STATES: readonly TaskState[] = [0, 1, 2, 3, 4, 5, 6, 7, 8]

export const pageSizeOf = (request: ListTasksRequest): number => {
  const { pageSize = 50, status, statusTimestampAfter } = request
  historyLengthOf(request.historyLength)
  if (!Number.isInteger(pageSize) || pageSize < 1 || pageSize > 100)
    throw new RequestMalformedError('pageSize must be between 1 and 100')
  if (!STATES.includes(status)) throw new RequestMalformedError('status is unknown')
  if (statusTimestampAfter && Number.isNaN(Date.parse(statusTimestampAfter)))
    throw new RequestMalformedError('statusTimestampAfter is not a time')
  return pageSize
}
