import { readFileSync } from 'node:fs'
import type { CoordinatorConfig } from '../config.ts'
import { createEmbeddedBus } from './broker.ts'
import type { Bus, BusParts } from './bus.ts'
import { createExternalBus } from './external.ts'
import { brokerLogins } from './logins.ts'

/** Opens the configured bus. An external broker need not be reachable yet. */
export const openBus = async (config: CoordinatorConfig, parts: BusParts): Promise<Bus> => {
  const { mode, url } = config.broker
  if (mode === 'embedded' || url === undefined) return createEmbeddedBus(parts)
  const { ca_file } = config.broker
  return createExternalBus({
    ...parts,
    broker: {
      url: new URL(url),
      ...(ca_file === undefined ? {} : { ca: readFileSync(ca_file) }),
      ...configuredLogins(config),
    },
    onConnectionChange: connected => {
      if (connected) parts.logger.info({ url }, 'broker is reached')
      else parts.logger.warn({ url }, 'broker is lost')
    },
  })
}

export const configuredLogins = ({ state_dir, broker }: CoordinatorConfig) =>
  brokerLogins({
    stateDir: state_dir,
    username: broker.username,
    ...(broker.password_file === undefined ? {} : { passwordFile: broker.password_file }),
  })
