import { MQTT_SUBSCRIBE, MqttSubscribeInput } from '../../../shared/wire/mqtt-bridge.ts'
import { receiveMessages } from '../mqtt/receive-messages.ts'
import { defineDeviceQuestion } from './device-question.ts'

/** The messages of a broker on some topics, as they come. */
export default defineDeviceQuestion({
  name: MQTT_SUBSCRIBE,
  input: MqttSubscribeInput,
  async *ask({ broker, port, ...subscription }, { mqtt, signal }) {
    const target = mqtt.find({ broker, port })
    for await (const value of receiveMessages(mqtt, target, subscription, signal))
      yield { type: 'item', value }
  },
})
