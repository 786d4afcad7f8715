import type { DeviceLink, LinkContext } from '../../device-link.ts'
import type { MqttLinkConfig } from './config.ts'
import { MqttLink } from './mqtt-link.ts'

export const openMqttLink = (config: MqttLinkConfig, context: LinkContext): DeviceLink =>
  new MqttLink(config, context)
