import { MQTT_RETAINED, MqttRetainedInput } from '../../../../shared/wire/mqtt-bridge.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { collectMessages, EXTRA_SECONDS, MqttSubscribeAnswer } from './subscribe.ts'

/** Time in which a broker sends its retained messages, in seconds. */
const SECONDS = 15

export default defineOperation({
  id: 'mqtt-retained',
  description: 'List the messages that an MQTT broker has retained.',
  method: 'GET',
  path: '/v1/mqtt/retained',
  access: 'operator',
  effect: 'read',
  openWorld: true,
  onCell: true,
  cli: { group: 'mqtt', verb: 'retained', words: ['broker'] },
  timeoutSeconds: SECONDS + EXTRA_SECONDS + 5,
  input: MqttRetainedInput,
  examples: [{ broker: 'home', topic: 'homeassistant/#' }],
  output: MqttSubscribeAnswer,
  run: (input, context: Context & FleetViews) =>
    collectMessages({ name: MQTT_RETAINED, input, maxSeconds: SECONDS + EXTRA_SECONDS }, context),
})
