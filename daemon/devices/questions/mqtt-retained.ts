import {
  MAX_MESSAGE_BYTES,
  MAX_SUBSCRIBE_BYTES,
  MQTT_RETAINED,
  MqttRetainedInput,
} from '../../../shared/wire/mqtt-bridge.ts'
import { receiveMessages } from '../mqtt/receive-messages.ts'
import { defineDeviceQuestion } from './device-question.ts'

/** Time for all of them: a broker sends them at once after the subscription. */
const SECONDS = 15
const IDLE_MS = 1000

/** The messages that a broker has retained on some topics. */
export default defineDeviceQuestion({
  name: MQTT_RETAINED,
  input: MqttRetainedInput,
  async *ask({ broker, port, topic, max_messages }, { mqtt, signal }) {
    const target = mqtt.find({ broker, port })
    const subscription = {
      topic,
      max_messages,
      seconds: SECONDS,
      max_message_bytes: MAX_MESSAGE_BYTES,
      max_bytes: MAX_SUBSCRIBE_BYTES,
      retainedIdleMs: IDLE_MS,
    }
    for await (const value of receiveMessages(mqtt, target, subscription, signal))
      yield { type: 'item', value }
  },
})
