import type { DeviceLink, LinkContext } from '../../device-link.ts'
import type { MavlinkLinkConfig } from './config.ts'
import { MavlinkLink } from './link.ts'

export const openMavlinkLink = (config: MavlinkLinkConfig, context: LinkContext): DeviceLink =>
  new MavlinkLink(config, context)
