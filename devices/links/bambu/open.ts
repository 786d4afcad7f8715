import type { DeviceLink, LinkContext } from '../../device-link.ts'
import { BambuLink } from './bambu-link.ts'
import type { BambuLinkConfig } from './config.ts'

export const openBambuLink = (config: BambuLinkConfig, context: LinkContext): DeviceLink =>
  new BambuLink(config, context)
