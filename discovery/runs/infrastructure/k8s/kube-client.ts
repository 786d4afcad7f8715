import { isIP } from 'node:net'
import { askApi, type BoundedAnswer } from '../../../net/ask-api.ts'
import type { PinnedTarget } from '../../../resolve-target.ts'
import { requireInScope } from '../../../scope.ts'
import type { KubeAccess } from './kube-access.ts'

/**
 * Asks an API server, with GET only. With credentials the certificate of the server must be valid;
 * without them nothing is at stake, and any server is asked.
 */
export class KubeClient {
  readonly #access: KubeAccess
  readonly #target: PinnedTarget
  readonly #signal: AbortSignal

  constructor(access: KubeAccess, target: PinnedTarget, signal: AbortSignal) {
    this.#access = access
    this.#target = target
    this.#signal = signal
  }

  /** @throws ShoalError scope_denied; Error of the connection */
  async get(path: string): Promise<BoundedAnswer> {
    const { server, ca, serverName: servername, credentials } = this.#access
    const [address = ''] = this.#target.addresses
    requireInScope(this.#target.scope, address)
    const { token, cert, key } = credentials ?? {}
    const headers = {
      accept: 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
    const place = {
      address,
      ...(ca !== undefined && { ca }),
      tls: {
        rejectUnauthorized: credentials !== undefined,
        ...(servername !== undefined && isIP(servername) === 0 && { servername }),
        ...(cert !== undefined && key !== undefined && { cert, key }),
      },
    }
    return askApi(new URL(path, server), headers, place, this.#signal)
  }
}
