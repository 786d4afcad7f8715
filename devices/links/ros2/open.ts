import type { DeviceLink, LinkContext } from '../../device-link.ts'
import type { Ros2LinkConfig } from './config.ts'
import { Ros2Link } from './link.ts'

export const openRos2Link = (config: Ros2LinkConfig, context: LinkContext): DeviceLink =>
  new Ros2Link(config, context)
