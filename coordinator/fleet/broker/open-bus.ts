import { readFileSync } from 'node:fs'
import type { Secrets } from '../../kernel/secrets/secrets.ts'
import { createEmbeddedBus } from './broker.ts'
import type { BrokerConfig } from './broker-config.ts'
import type { Bus, BusParts } from './bus.ts'
import { brokerLogins, loadBrokerKey } from './logins.ts'

/** Opens the configured bus. An external broker need not be reachable yet. */
export const openBus = async (
  config: { broker: BrokerConfig },
  secrets: Pick<Secrets, 'ensure'>,
  parts: BusParts,
): Promise<Bus> => {
  const { mode, url } = config.broker
  if (mode === 'embedded' || url === undefined) return createEmbeddedBus(parts)
  const { createExternalBus } = await import('./external.ts')
  const { ca_file } = config.broker
  return createExternalBus({
    ...parts,
    broker: {
      url: new URL(url),
      ...(ca_file === undefined ? {} : { ca: readFileSync(ca_file) }),
      ...(await loadLogins(config, secrets)),
    },
    onConnectionChange: connected => {
      if (connected) parts.logger.info({ url }, 'broker is reached')
      else parts.logger.warn({ url }, 'broker is lost')
    },
  })
}

export const loadLogins = async (
  { broker }: { broker: BrokerConfig },
  secrets: Pick<Secrets, 'ensure'>,
) =>
  brokerLogins({
    key: await loadBrokerKey(secrets),
    username: broker.username,
    ...(broker.password_file === undefined ? {} : { passwordFile: broker.password_file }),
  })
