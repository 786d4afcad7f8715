import * as z from 'zod'
import type { DeviceLink, LinkContext } from '../device-link.ts'
import { BambuLinkConfig } from './bambu/config.ts'
import { HttpLinkConfig } from './http/config.ts'
import { createLinkType, type LinkType } from './link-type.ts'
import { MavlinkLinkConfig } from './mavlink/config.ts'
import { MqttLinkConfig } from './mqtt/config.ts'
import { Ros2LinkConfig } from './ros2/config.ts'
import { SimLinkConfig } from './sim/config.ts'

/** Links that this build knows; one line each, sorted. */
const LINK_TYPES: readonly LinkType[] = [
  createLinkType(BambuLinkConfig, async () => (await import('./bambu/open.ts')).openBambuLink),
  createLinkType(HttpLinkConfig, async () => (await import('./http/open.ts')).openHttpLink),
  createLinkType(
    MavlinkLinkConfig,
    async () => (await import('./mavlink/open.ts')).openMavlinkLink,
  ),
  createLinkType(MqttLinkConfig, async () => (await import('./mqtt/open.ts')).openMqttLink),
  createLinkType(Ros2LinkConfig, async () => (await import('./ros2/open.ts')).openRos2Link),
  createLinkType(SimLinkConfig, async () => (await import('./sim/open.ts')).openSimLink),
]

/** Configuration of one link; `kind` chooses it. */
export const LinkConfig = z.discriminatedUnion(
  'kind',
  LINK_TYPES.map(({ config }) => config) as [LinkType['config']],
)
export type LinkConfig = z.infer<typeof LinkConfig>

/** Loads the code of a link and creates it; nothing is sent before its `start`. */
export const openLink = (config: LinkConfig, context: LinkContext): Promise<DeviceLink> => {
  const type = LINK_TYPES.find(one => one.config.shape.kind.value === config.kind)
  if (type === undefined) throw new Error(`this build has no link of kind ${config.kind}`)
  return type.open(config, context)
}
