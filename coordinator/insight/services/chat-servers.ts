import { type Ask, type Check, fieldOf } from './probe.ts'
import type { ChatServersConfig } from './services-config.ts'

interface ChatServerStatus {
  tenantId: string
  url: string
  state: 'up' | 'degraded' | 'down' | 'unknown'
  reason: string | undefined
  latencyMs: number
  /** Versions of the client API, such as `v1.11`. */
  versions: string[]
  software: string | undefined
  loginFlows: string[]
}

interface ChatParts {
  config: ChatServersConfig
  ask: Ask
}

/** Matrix homeservers of tenants, asked over their client and federation APIs (Matrix 1.11). */
export class ChatServers {
  readonly #parts: ChatParts

  constructor(parts: ChatParts) {
    this.#parts = parts
  }

  /** Tenants that have a chat server in the configuration. */
  tenants(): string[] {
    return Object.keys(this.#parts.config)
  }

  urlOf(tenantId: string): string | undefined {
    return this.#parts.config[tenantId]?.url
  }

  /** Checks a server. It does not throw for one that does not answer: the state says so. */
  async check(tenantId: string, signal: AbortSignal): Promise<ChatServerStatus | undefined> {
    const { config, ask } = this.#parts
    const configured = Object.hasOwn(config, tenantId) ? config[tenantId] : undefined
    if (configured === undefined) return undefined
    const { url } = configured
    const base = url.replace(/\/+$/, '')
    const [versions, login, federation] = await Promise.all([
      ask({ name: 'versions', url: `${base}/_matrix/client/versions`, findFault }, signal),
      ask({ name: 'login', url: `${base}/_matrix/client/v3/login` }, signal),
      ask({ name: 'federation', url: `${base}/_matrix/federation/v1/version` }, signal),
    ])
    const server = fieldOf(federation.body, 'server') as { name?: unknown; version?: unknown }
    return {
      tenantId,
      url,
      ...stateOf(versions, [login, federation]),
      latencyMs: versions.latencyMs,
      versions: textsOf(fieldOf(versions.body, 'versions')),
      software:
        typeof server?.name === 'string'
          ? `${server.name} ${server.version ?? ''}`.trim()
          : undefined,
      loginFlows: textsOf(
        (Array.isArray(fieldOf(login.body, 'flows'))
          ? (fieldOf(login.body, 'flows') as object[])
          : []
        ).map(flow => (flow as { type?: unknown } | null)?.type),
      ),
    }
  }
}

const stateOf = (
  versions: Check,
  others: readonly Check[],
): Pick<ChatServerStatus, 'state' | 'reason'> => {
  const faulty = [versions, ...others].find(({ state }) => state !== 'up')
  if (faulty === undefined) return { state: 'up', reason: undefined }
  const reason = `${faulty.name}: ${faulty.fault}`
  return { state: versions.state === 'up' ? 'degraded' : versions.state, reason }
}

const findFault = (body: unknown): string | undefined =>
  Array.isArray((body as { versions?: unknown } | undefined)?.versions)
    ? undefined
    : 'it is not a Matrix server'

const textsOf = (value: unknown): string[] =>
  Array.isArray(value)
    ? value
        .filter(each => typeof each === 'string')
        .slice(0, 64)
        .map(each => each.slice(0, 64))
    : []
