import type { DeviceLink, LinkContext } from '../../device-link.ts'
import type { HttpLinkConfig } from './config.ts'
import { HttpLink } from './http-link.ts'

export const openHttpLink = (config: HttpLinkConfig, context: LinkContext): DeviceLink =>
  new HttpLink(config, context)
