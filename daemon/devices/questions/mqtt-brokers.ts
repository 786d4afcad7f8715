import type { LinkedBroker } from '../../../devices/mqtt/linked-broker.ts'
import { isMqttLink } from '../../../devices/mqtt/linked-broker.ts'
import {
  MQTT_BROKERS,
  type MqttBrokerFacts,
  MqttBrokersInput,
} from '../../../shared/wire/mqtt-bridge.ts'
import { type DeviceQuestionContext, defineDeviceQuestion } from './device-question.ts'

/** The configured brokers of this cell, without their credentials. */
export default defineDeviceQuestion({
  name: MQTT_BROKERS,
  input: MqttBrokersInput,
  async *ask(_input, { mqtt, host }) {
    const brokers = mqtt.listBrokers().map(broker => describeBroker(broker, host))
    yield { type: 'item', value: { brokers } }
  },
})

const describeBroker = (
  broker: LinkedBroker,
  host: DeviceQuestionContext['host'],
): MqttBrokerFacts => {
  const { name, host: address, port, isTls, connection, allowPublish, allowRetained } = broker
  const { reason, dropped } = connection
  return {
    name,
    host: address,
    port,
    tls: isTls,
    connected: reason === undefined,
    reason: reason ?? null,
    devices: host.listDevices().filter(({ link }) => isMqttLink(link) && link.broker === broker)
      .length,
    dropped,
    allow_publish: [...allowPublish],
    allow_retained: [...allowRetained],
  }
}
