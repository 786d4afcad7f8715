import * as z from 'zod'
import { PropertyName, PropertyValue } from '../../../shared/wire/device.ts'
import { SafetyEnvelope } from '../../../shared/wire/safety-envelope.ts'
import { DECLARED_VERB, DeclaredName, DeclaredProperty } from '../../declared/config.ts'
import { refuseFaults } from '../../declared/faults.ts'
import { BROKER_FIELDS } from '../../mqtt/broker-config.ts'
import { isPlainTopic } from '../../mqtt/topics.ts'

const Topic = z
  .string()
  .min(1)
  .max(256)
  .refine(topic => isPlainTopic(topic), 'must be a topic without wildcards')
/** First levels of topics; what follows is added. */
const TopicPrefix = z
  .string()
  .max(128)
  .regex(/^[^+#/$\p{Cc}][^+#\p{Cc}]*[^+#/\p{Cc}]$/u)

const Device = z.strictObject({
  name: DeclaredName,
  site: z.string().max(64).exactOptional(),
  envelope: SafetyEnvelope.exactOptional(),
  availability: z
    .strictObject({
      topic: Topic,
      online: z.string().max(64).default('online'),
      offline: z.string().max(64).default('offline'),
    })
    .exactOptional(),
  properties: z
    .record(PropertyName, DeclaredProperty.extend({ topic: Topic }))
    .default({})
    .refine(properties => Object.keys(properties).length <= 64, 'has at most 64 properties'),
  verbs: z
    .record(
      z.string().regex(/^[a-z][a-z0-9-]{0,63}$/),
      z.strictObject({
        ...DECLARED_VERB,
        topic: z.string().min(1).max(256),
        payload: z.json().describe('Text, or JSON; {name} stands for a parameter.'),
        confirm: z
          .strictObject({ property: PropertyName, value: PropertyValue })
          .exactOptional()
          .describe('Reading to wait for; without it the broker alone confirms the command.'),
      }),
    )
    .default({})
    .refine(verbs => Object.keys(verbs).length <= 32, 'has at most 32 verbs'),
  estop_verb: z
    .string()
    .max(64)
    .exactOptional()
    .describe('Verb without parameters that an e-stop sends; none when absent.'),
})
export type GenericDevice = z.infer<typeof Device>

/** A device that announces itself in no known way. */
export const GenericDevice = Device.superRefine(
  refuseFaults<GenericDevice>(({ topic, payload }) => ({ topic, payload })),
)

/** An MQTT broker and the devices behind it. */
export const MqttLinkConfig = z.strictObject({
  kind: z.literal('mqtt'),
  ...BROKER_FIELDS,
  sources: z
    .array(z.enum(['tasmota', 'shelly', 'zigbee2mqtt', 'home-assistant']))
    .max(4)
    .default(['tasmota', 'shelly', 'zigbee2mqtt', 'home-assistant'])
    .describe('Announcements in which devices are found.'),
  tasmota_prefix: TopicPrefix.default('tasmota/discovery'),
  zigbee2mqtt_base: TopicPrefix.default('zigbee2mqtt'),
  home_assistant_prefix: TopicPrefix.default('homeassistant'),
  max_devices: z.int().min(1).max(256).default(128),
  site: z.string().max(64).exactOptional().describe('Site of the devices that are found.'),
  devices: z.array(GenericDevice).max(32).default([]),
})
export type MqttLinkConfig = z.infer<typeof MqttLinkConfig>
