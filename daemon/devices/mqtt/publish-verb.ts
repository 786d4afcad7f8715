import { hash } from 'node:crypto'
import * as z from 'zod'
import { isPlainTopic, matchesFilter } from '../../../devices/mqtt/topics.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { EngagedStop } from '../../../shared/wire/estop.ts'
import {
  MAX_PAYLOAD_BYTES,
  MAX_TOPIC_BYTES,
  MQTT_CONNECT_SECONDS,
  MQTT_PUBLISH,
  MqttPublishParams,
} from '../../../shared/wire/mqtt-bridge.ts'
import { LIVE_GATE } from '../../../shared/wire/plan-part.ts'
import { isFleetTopic } from '../../../shared/wire/topics.ts'
import { CommandFailure } from '../../commands/outcome.ts'
import type { Verb } from '../../commands/verb.ts'
import type { BrokerTarget } from './find-broker.ts'
import type { MqttBridge } from './mqtt-bridge.ts'

/** A message exactly as it is sent. */
const PublishOperation = z.strictObject({
  /** Name of a configured broker; null for another one, which gets no credentials. */
  broker: z.string().nullable(),
  host: z.string(),
  port: z.int(),
  topic: z.string(),
  payload: z.string(),
  payload_bytes: z.int(),
  payload_sha256: z.string(),
  retain: z.boolean(),
  qos: z.union([z.literal(0), z.literal(1)]),
})
type PublishOperation = z.infer<typeof PublishOperation>

/** Nothing is read here but acknowledgements. */
const LIMITS = { maxMessageBytes: 1024, messagesPerSecond: 1 }

/** Returns the e-stop that holds the cell or a device of it; undefined while none does. */
type FindStop = () => Pick<EngagedStop, 'estop_id' | 'reason'> | undefined

/**
 * Creates the verb of this cell that publishes one message. It is `caution` for topics that the
 * configuration of the broker allows, and unsafe for all others. Nobody knows what a message moves,
 * so that none is published while an e-stop holds a device of the cell.
 */
export const createPublishVerb = (
  bridge: MqttBridge,
  findStop: FindStop = () => undefined,
): Verb => ({
  verb: MQTT_PUBLISH,
  description: 'Publishes one message to an MQTT broker; outside its allow list with an approval.',
  hazard: 'unsafe',
  gate: LIVE_GATE,
  timeout_seconds: MQTT_CONNECT_SECONDS + 10,
  params: MqttPublishParams,
  hazardOf: given => {
    const params = MqttPublishParams.parse(given)
    return isAllowed(params, findQuietly(bridge, params)) ? 'caution' : 'unsafe'
  },
  plan: given => {
    const params = MqttPublishParams.parse(given)
    requirePublishable(params)
    return { operations: [toOperation(params, bridge.find(params))], bounds: {} }
  },
  check: async ({ operations: [operation] }) => {
    const { host, port } = PublishOperation.parse(operation)
    return [await checkScope(bridge, { host, port }), checkStop(findStop)]
  },
  run: async ({ operations: [operation] }, { signal }) => {
    const message = PublishOperation.parse(operation)
    await publish(bridge, message, { signal, findStop })
    return { published: true, payload_bytes: message.payload_bytes }
  },
})

/** The plan names the fault of a broker; here it only counts as unsafe. */
const findQuietly = (bridge: MqttBridge, params: MqttPublishParams): BrokerTarget | undefined => {
  try {
    return bridge.find(params)
  } catch {
    return undefined
  }
}

const isAllowed = (
  { topic, retain }: MqttPublishParams,
  target: BrokerTarget | undefined,
): boolean => {
  const { allowPublish = [], allowRetained = [] } = target?.linked ?? {}
  const filters = retain ? allowRetained : allowPublish
  return filters.some(filter => matchesFilter(filter, topic))
}

/** @throws ShoalError invalid_request, or forbidden for topics of the fleet itself */
const requirePublishable = ({ topic, payload }: MqttPublishParams): void => {
  const refuse = (why: string, param: string): never => {
    throw new ShoalError('invalid_request', why, { param })
  }
  if (Buffer.byteLength(topic) > MAX_TOPIC_BYTES)
    refuse(`topic is longer than ${MAX_TOPIC_BYTES} bytes`, 'topic')
  if (!isPlainTopic(topic))
    refuse('topic must have no wildcard, no control character and no $ at its beginning', 'topic')
  if (isFleetTopic(topic))
    throw new ShoalError(
      'forbidden',
      `${topic} is a topic of the fleet itself; its messages must not loop`,
    )
  if (!payload.isWellFormed() || Buffer.byteLength(payload) > MAX_PAYLOAD_BYTES)
    refuse(`payload must be valid text of at most ${MAX_PAYLOAD_BYTES} bytes`, 'payload')
}

const toOperation = (
  { topic, payload, retain, qos }: MqttPublishParams,
  { host, port, linked }: BrokerTarget,
): PublishOperation => ({
  broker: linked?.name ?? null,
  host,
  port,
  topic,
  payload,
  payload_bytes: Buffer.byteLength(payload),
  payload_sha256: hash('sha256', payload),
  retain,
  qos,
})

const checkScope = async (bridge: MqttBridge, { host, port }: { host: string; port: number }) => {
  const check = { name: 'broker_scope', limit: 'loopback and devices.scope of the cell' }
  try {
    await bridge.requireScope({ host, port })
    return { ...check, observed: `${host}:${port}`, holds: true }
  } catch (error) {
    return { ...check, observed: (error as Error).message.slice(0, 300), holds: false }
  }
}

const describeStop = (findStop: FindStop): string | null => {
  const stop = findStop()
  return stop === undefined ? null : `e-stop ${stop.estop_id}: ${stop.reason}`
}

const checkStop = (findStop: FindStop) => {
  const observed = describeStop(findStop)
  return { name: 'estop', limit: null, observed, holds: observed === null }
}

const publish = async (
  bridge: MqttBridge,
  { broker, host, port, topic, payload, retain, qos }: PublishOperation,
  { signal, findStop }: { signal: AbortSignal; findStop: FindStop },
): Promise<void> => {
  const target = bridge.find({ broker: broker ?? host, port })
  const session = bridge.useSession(target, LIMITS, signal, async function* ({ connection }) {
    // the connection took its time, and the stop may be newer
    const stopped = describeStop(findStop)
    if (stopped !== null) throw new CommandFailure('estopped', `nothing was published: ${stopped}`)
    yield await connection.publish(topic, payload, signal, { qos, retain })
  })
  for await (const _ of session) return
}
