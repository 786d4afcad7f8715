import { request } from 'node:https'
import { isIP } from 'node:net'
import { type BoundedAnswer, readAnswer } from '../../../net/read-answer.ts'
import type { PinnedTarget } from '../../../resolve-target.ts'
import { requireInScope } from '../../../scope.ts'
import type { KubeAccess } from './kube-access.ts'

/** Largest answer, bytes: a page of 500 pods has some 5 MB. */
const MAX_BYTES = 32 * 1024 * 1024
const TIMEOUT_MS = 10_000

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
  get(path: string): Promise<BoundedAnswer> {
    const { server, ca, serverName, credentials } = this.#access
    const { hostname, port, host } = new URL(server)
    const [address = ''] = this.#target.addresses
    requireInScope(this.#target.scope, address)
    const name = serverName ?? hostname.replace(/^\[(.*)\]$/, '$1')
    const { token, cert, key } = credentials ?? {}
    const options = {
      host: address,
      port: port || 443,
      path,
      agent: false as const,
      signal: AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)]),
      rejectUnauthorized: credentials !== undefined,
      ...(isIP(name) === 0 && { servername: name }),
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && key !== undefined && { cert, key }),
      headers: {
        host,
        accept: 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
    }
    return readAnswer(request(options), path, MAX_BYTES)
  }
}
