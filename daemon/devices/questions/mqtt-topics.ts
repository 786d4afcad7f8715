import { matchesFilter } from '../../../devices/mqtt/topics.ts'
import { MQTT_TOPICS, MqttTopicsInput } from '../../../shared/wire/mqtt-bridge.ts'
import { defineDeviceQuestion } from './device-question.ts'

/** The topics on which the links of this cell have received messages. */
export default defineDeviceQuestion({
  name: MQTT_TOPICS,
  input: MqttTopicsInput,
  async *ask({ broker, filter, limit }, { mqtt, nowMs }) {
    const brokers = mqtt.listBrokers().filter(({ name }) => broker === undefined || name === broker)
    const now = nowMs()
    const seen = brokers
      .flatMap(({ name, topics }) => topics.list().map(topic => ({ ...topic, broker: name })))
      .filter(({ topic }) => matchesFilter(filter, topic))
      .sort((one, other) => other.atMs - one.atMs)
    yield {
      type: 'item',
      value: {
        topics: seen.slice(0, limit).map(({ atMs, isRetained, ...facts }) => ({
          ...facts,
          age_ms: Math.max(0, now - atMs),
          retained: isRetained,
        })),
        total: seen.length,
        forgotten: brokers.reduce((sum, { topics }) => sum + topics.forgotten, 0),
      },
    }
  },
})
