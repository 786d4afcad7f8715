import * as z from 'zod'
import { ShoalError } from '../../../../shared/errors.ts'
import {
  MAX_PAYLOAD_BYTES,
  MAX_SUBSCRIBE_SECONDS,
  MqttBrokerRef,
  MqttPublishParams,
  MqttSubscribeInput,
  MqttTopic,
} from '../../../../shared/wire/mqtt-bridge.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { ControlViews } from '../../../fleet/control/open.ts'
import { commandSuccess } from '../../../fleet/control/operations/commands/command-success.ts'
import { limitJson } from '../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { MqttPublishAnswer, type PublishPlan, planPublish, runPublish } from './plan-publish.ts'
import { EXTRA_SECONDS, MqttSubscribeAnswer, subscribeOnCell } from './subscribe.ts'

/** A subscription needs no plan of a cell: it is bounded and changes nothing. */
type BridgePlan = { subscribe: MqttSubscribeInput } | { publish: PublishPlan }

export default defineSkill({
  id: 'mqtt-bridge',
  group: 'devices',
  name: 'MQTT bridge',
  description:
    'Read messages of an MQTT broker for at most a minute, or publish one; publishing outside the allow list needs approval.',
  tags: ['devices', 'mqtt', 'iot'],
  access: 'operator',
  effect: 'gated',
  onCell: true,
  timeoutSeconds: MAX_SUBSCRIBE_SECONDS + EXTRA_SECONDS + 5,
  needsCallKey: ({ action }) => action === 'publish',
  input: z.strictObject({
    action: z.enum(['publish', 'subscribe']).default('subscribe'),
    ...MqttBrokerRef.shape,
    topic: MqttTopic.describe('Topic to publish to, or topic filter to subscribe to.'),
    payload: limitJson(z.record(z.string().max(128), z.json()), MAX_PAYLOAD_BYTES)
      .exactOptional()
      .describe('Message to publish; it is sent as JSON.'),
  }),
  examples: [
    { broker: 'home', topic: 'zigbee2mqtt/#' },
    { action: 'publish', broker: 'home', topic: 'zigbee2mqtt/lamp/set', payload: { state: 'ON' } },
  ],
  output: z.object({
    /** Null for `publish`. */
    received: MqttSubscribeAnswer.nullable(),
    /** Null for `subscribe`. */
    sent: MqttPublishAnswer.nullable(),
  }),
  success: commandSuccess('sent.command'),
  plan: async ({ action, payload, ...at }, context: Context & ControlViews & FleetViews) => {
    if (action === 'subscribe') {
      const plan: BridgePlan = { subscribe: MqttSubscribeInput.parse(at) }
      return { plan, summary: `subscribe to ${at.topic} at ${at.broker}` }
    }
    if (payload === undefined)
      throw new ShoalError('invalid_request', 'publish needs a payload', { param: 'payload' })
    const message = MqttPublishParams.parse({ ...at, payload: JSON.stringify(payload) })
    const planned = await planPublish(message, context)
    return { ...planned, plan: { publish: planned.plan } }
  },
  run: async (plan: BridgePlan, context: Context & ControlViews & FleetViews, approval) =>
    'subscribe' in plan
      ? { received: await subscribeOnCell(plan.subscribe, context), sent: null }
      : { received: null, sent: await runPublish(plan.publish, context, approval) },
})
