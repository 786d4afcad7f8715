import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { Json } from '../../profile.ts'
import { encodeData, isEncodedData } from './message-data.ts'
import { MessageType, TopicName, type TypedTopic } from './names.ts'

/** Messages a second of a motion. */
const RATE_HZ = 10
export const MAX_DRIVE_SECONDS = 30
const MAX_MESSAGES = MAX_DRIVE_SECONDS * RATE_HZ

/** Time for the start of the tool, and for its search for a subscriber. */
const START_TIMEOUT_MS = 10_000

const Data = z.string().refine(isEncodedData, { error: 'is not the text of a message' })
const Count = z
  .string()
  .regex(/^[1-9][0-9]{0,2}$/)
  .refine(count => Number(count) <= MAX_MESSAGES)

/** Waits for a subscriber: without it the tool reports success although nobody received it. */
const WAIT = [z.literal('-w'), z.literal('1')] as const
const PUBLISH = [z.literal('topic'), z.literal('pub')] as const
const MESSAGE = [TopicName, MessageType, Data] as const

/** Arguments of the command line tool `ros2`, in the three forms that this link uses. */
const Argv = z.union([
  z.tuple([...PUBLISH, z.literal('--once'), ...WAIT, ...MESSAGE]),
  z.tuple([
    ...PUBLISH,
    z.literal('--rate'),
    z.literal(String(RATE_HZ)),
    z.literal('--times'),
    Count,
    ...WAIT,
    ...MESSAGE,
  ]),
  z.tuple([z.literal('topic'), z.literal('echo'), z.literal('--once'), TopicName, MessageType]),
])

export const Ros2Operation = z.strictObject({ argv: Argv })
export type Ros2Operation = { argv: string[] }

/** Publishes one message. */
export const createPublish = (
  { topic, msg_type }: TypedTopic,
  data: Record<string, Json>,
): Ros2Operation => ({
  argv: ['topic', 'pub', '--once', '-w', '1', topic, msg_type, encodeData(data)],
})

/** Publishes a message again and again, for a bounded time. */
export const createMotion = (
  { topic, msg_type }: TypedTopic,
  data: Record<string, Json>,
  duration_s: number,
): Ros2Operation => {
  const count = String(Math.max(1, Math.ceil(duration_s * RATE_HZ)))
  const rate = ['--rate', String(RATE_HZ), '--times', count, '-w', '1']
  return { argv: ['topic', 'pub', ...rate, topic, msg_type, encodeData(data)] }
}

/** Reads one message. */
export const createRead = ({ topic, msg_type }: TypedTopic): Ros2Operation => ({
  argv: ['topic', 'echo', '--once', topic, msg_type],
})

/** @throws ShoalError invalid_request for an operation that no plan of this link contains */
export const parseOperation = (operation: Json): Ros2Operation => {
  const parsed = Ros2Operation.safeParse(operation)
  if (parsed.success) return parsed.data
  throw new ShoalError(
    'invalid_request',
    'the operation is not a call of ros2 that a plan contains',
  )
}

const countMessages = ({ argv }: Ros2Operation): number => {
  const at = argv.indexOf('--times')
  return at === -1 ? 0 : Number(argv[at + 1])
}

/** True for an operation that keeps a robot moving; the operations behind it bring it to rest. */
export const isMotion = (operation: Ros2Operation): boolean => countMessages(operation) > 0
export const isRead = ({ argv }: Ros2Operation): boolean => argv[1] === 'echo'

export const computeTimeoutMs = (operation: Ros2Operation): number =>
  START_TIMEOUT_MS + (countMessages(operation) / RATE_HZ) * 1000
