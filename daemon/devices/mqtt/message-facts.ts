import { isUtf8 } from 'node:buffer'
import type { MqttMessage } from '../../../devices/mqtt/connection.ts'
import type { MqttMessageFacts } from '../../../shared/wire/mqtt-bridge.ts'

/** A message as it travels to the coordinator. @param at unix milliseconds */
export const toMessageFacts = (
  { topic, payload, isRetained }: MqttMessage,
  at: number,
): MqttMessageFacts => {
  const encoding = isUtf8(payload) ? 'text' : 'base64'
  return {
    topic: topic.toWellFormed(),
    payload: payload.toString(encoding === 'text' ? 'utf8' : 'base64'),
    encoding,
    bytes: payload.length,
    retained: isRetained,
    at,
  }
}
