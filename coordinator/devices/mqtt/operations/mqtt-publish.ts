import { MqttPublishParams } from '../../../../shared/wire/mqtt-bridge.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import { commandSuccess } from '../../../fleet/control/operations/commands/command-success.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import {
  MqttPublishAnswer,
  PUBLISH_SECONDS,
  type PublishPlan,
  planPublish,
  runPublish,
} from './plan-publish.ts'

export default defineOperation({
  id: 'mqtt-publish',
  description:
    'Publish one message to an MQTT broker. Outside the allow list of the broker it needs an approval.',
  method: 'POST',
  path: '/v1/mqtt/publish',
  access: 'operator',
  effect: 'gated',
  onCell: true,
  cli: { group: 'mqtt', verb: 'publish', words: ['broker', 'topic', 'payload'] },
  timeoutSeconds: PUBLISH_SECONDS,
  needsCallKey: () => true,
  input: MqttPublishParams,
  examples: [{ broker: 'home', topic: 'zigbee2mqtt/lamp/set', payload: '{"state":"ON"}' }],
  output: MqttPublishAnswer,
  success: commandSuccess('command'),
  plan: planPublish,
  run: (plan: PublishPlan, context: Context & ControlViews, approval) =>
    runPublish(plan, context, approval),
})
