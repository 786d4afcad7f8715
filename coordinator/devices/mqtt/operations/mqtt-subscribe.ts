import { MAX_SUBSCRIBE_SECONDS, MqttSubscribeInput } from '../../../../shared/wire/mqtt-bridge.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { MqttMessageView } from './message-view.ts'
import { EXTRA_SECONDS, MqttSubscribeAnswer, subscribeOnCell } from './subscribe.ts'

export default defineOperation({
  id: 'mqtt-subscribe',
  description: 'Read the messages of an MQTT broker that a cell reaches, for a bounded time.',
  method: 'POST',
  path: '/v1/mqtt/subscribe',
  access: 'operator',
  effect: 'read',
  openWorld: true,
  onCell: true,
  cli: { group: 'mqtt', verb: 'subscribe', words: ['broker', 'topic'] },
  mode: 'stream',
  timeoutSeconds: MAX_SUBSCRIBE_SECONDS + EXTRA_SECONDS + 5,
  input: MqttSubscribeInput,
  examples: [{ broker: 'home', topic: 'zigbee2mqtt/#', seconds: 10 }],
  output: MqttSubscribeAnswer,
  events: MqttMessageView,
  run: subscribeOnCell,
})
