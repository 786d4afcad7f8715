import * as z from 'zod'
import { COORDINATOR_MQTT_PORT } from '../../../shared/wire/mqtt-port.ts'
import { isLoopback } from '../../kernel/base/is-loopback.ts'

/** Settings of the plain MQTT port. */
export const MqttConfig = z.strictObject({
  enabled: z
    .boolean()
    .default(false)
    .describe('Offer plain MQTT on 127.0.0.1 for cells, besides the upgrade on the HTTP port.'),
  port: z
    .int()
    .min(0)
    .max(65_535)
    .default(COORDINATOR_MQTT_PORT)
    .describe('TCP port of plain MQTT; 0 chooses a free one.'),
})

/** Settings of the broker that cells are reached through. */
export const BrokerConfig = z
  .strictObject({
    mode: z
      .enum(['embedded', 'external'])
      .default('embedded')
      .describe('Broker in this process, or an external one such as mosquitto.'),
    url: z
      .url({ protocol: /^mqtts?$/ })
      .optional()
      .describe('Address of the external broker; mqtts://… unless it is on loopback.'),
    ca_file: z.string().optional().describe('Certificate authority of the external broker, PEM.'),
    username: z
      .string()
      .regex(/^[\w.-]{1,64}$/)
      .default('coordinator')
      .describe('User name of the coordinator at the broker.'),
    password_file: z
      .string()
      .optional()
      .describe(
        'File with the broker password; without it the password is derived from a secret in the store.',
      ),
  })
  .refine(({ mode, url }) => mode === 'embedded' || url !== undefined, {
    path: ['url'],
    error: 'an external broker needs its address',
  })
  .refine(({ url }) => url?.startsWith('mqtt:') !== true || isLoopback(new URL(url).hostname), {
    path: ['url'],
    error: 'passwords would be sent unencrypted: a broker that is not on loopback needs mqtts',
  })
export type BrokerConfig = z.output<typeof BrokerConfig>
