import type { DeviceLink, LinkContext } from '../../device-link.ts'
import type { SimLinkConfig } from './config.ts'
import { SimLink } from './link.ts'

export const openSimLink = (config: SimLinkConfig, context: LinkContext): DeviceLink =>
  new SimLink(config, context)
