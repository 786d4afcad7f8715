import { isLoopback } from '../base/is-loopback.ts'
import type { CertificateParts, ServerIdentity } from './own-certificate.ts'
import { type IdentityConfig, loadServerIdentity } from './server-identity.ts'

/** Properties of the listener: loopback only, and encrypted. */
export interface ListenerViews {
  listens: { loopbackOnly: boolean; encrypted: boolean }
}

/** Opens the server identity; undefined on plain loopback. */
export const openTls = async ({
  config,
  secrets,
}: {
  config: IdentityConfig
  secrets: CertificateParts['secrets']
}): Promise<{ shown: ServerIdentity | undefined; views: ListenerViews }> => {
  const shown = await loadServerIdentity(config, secrets)
  const listens = {
    loopbackOnly: isLoopback(config.http.host),
    encrypted: shown !== undefined,
  }
  return { shown, views: { listens } }
}
