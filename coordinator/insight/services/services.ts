import { hash } from 'node:crypto'
import { type Ask, type Check, fieldOf, type Question, type ServiceState } from './probe.ts'
import type { ServicesConfig } from './services-config.ts'

export const SERVICE_IDS = ['cockpit', 'keycloak', 'iio_api'] as const
export type ServiceId = (typeof SERVICE_IDS)[number]
export const REALMS: readonly string[] = ['platform', 'operators', 'customers', 'partners']

export interface ServiceHealth {
  serviceId: ServiceId
  state: ServiceState
  /** Reason why it is not up, in plain words. */
  reason: string | undefined
  checks: Check[]
}

/** A service with an address. */
export interface ConfiguredService {
  id: ServiceId
  url: string
  /** True for the agent host or API of this coordinator itself. */
  isOwn: boolean
  hasRepair: boolean
}

interface ServicesParts {
  config: ServicesConfig
  /** Address of this coordinator's own listener; undefined before it listens. */
  ownUrl: () => string | undefined
  ask: Ask
}

interface CheckOptions {
  isDeep: boolean
  realms?: readonly string[]
}

/** Services of the configuration, really asked over HTTP. */
export class Services {
  readonly #parts: ServicesParts

  constructor(parts: ServicesParts) {
    this.#parts = parts
  }

  /** Address that carries out a repair; undefined for a service that is never repaired. */
  repairUrl(id: ServiceId): string | undefined {
    return this.#parts.config[id].repair_url
  }

  /** Services that can be asked. */
  list(): ConfiguredService[] {
    return SERVICE_IDS.flatMap(id => {
      const { url } = this.#parts.config[id]
      const asked = url ?? (id === 'keycloak' ? undefined : this.#ownAddress(id))
      if (asked === undefined) return []
      const hasRepair = this.repairUrl(id) !== undefined
      return [{ id, url: asked, isOwn: url === undefined, hasRepair }]
    })
  }

  /** Checks a service. It does not throw for one that does not answer: the state says so. */
  async check(
    serviceId: ServiceId,
    { isDeep, realms = this.#parts.config.keycloak.realms ?? REALMS }: CheckOptions,
    signal: AbortSignal,
  ): Promise<ServiceHealth> {
    const questions =
      serviceId === 'keycloak'
        ? this.#keycloakQuestions(isDeep, realms)
        : this.#questions(serviceId, isDeep)
    if (questions.length === 0) {
      const reason = `services.${serviceId}.url is not configured`
      return { serviceId, state: 'not_configured', reason, checks: [] }
    }
    const checks = await Promise.all(questions.map(each => this.#parts.ask(each, signal)))
    return { serviceId, ...summarize(checks), checks }
  }

  #questions(id: 'cockpit' | 'iio_api', isDeep: boolean): Question[] {
    const { url = this.#ownAddress(id), deep_url } = this.#parts.config[id]
    if (url === undefined) return []
    const deep = isDeep && deep_url !== undefined ? [{ name: 'deep', url: deep_url }] : []
    return [{ name: 'health', url, findFault: statusFault }, ...deep]
  }

  #ownAddress(id: 'cockpit' | 'iio_api'): string | undefined {
    const own = this.#parts.ownUrl()
    return own === undefined ? undefined : `${own}${id === 'cockpit' ? '/health' : '/v1/health'}`
  }

  /**
   * Readiness as Keycloak's health endpoints report it, and each realm's public address; a deep
   * check also reads the discovery document and the signing keys (OpenID Connect Discovery 1.0).
   */
  #keycloakQuestions(isDeep: boolean, realms: readonly string[]): Question[] {
    const { url, health_url } = this.#parts.config.keycloak
    if (url === undefined) return []
    const base = url.replace(/\/+$/, '')
    const ready = {
      name: 'health',
      url: health_url ?? `${base}/health/ready`,
      findFault: readyFault,
    }
    return [
      ready,
      ...realms.flatMap(realm => {
        const address = `${base}/realms/${encodeURIComponent(realm)}`
        const shallow = { name: `realm ${realm}`, url: address, findFault: realmFault(realm) }
        return isDeep ? [shallow, ...deepQuestions(realm, address)] : [shallow]
      }),
    ]
  }
}

/** The first check decides whether the service is down; the others can only show a degradation. */
const summarize = ([health, ...others]: Check[]): Pick<ServiceHealth, 'state' | 'reason'> => {
  const faulty = [health, ...others].find(check => check !== undefined && check.state !== 'up')
  if (health === undefined || faulty === undefined) return { state: 'up', reason: undefined }
  const reason = `${faulty.name}: ${faulty.fault}`
  if (health.state === 'down') return { state: 'down', reason }
  const answers = [health, ...others].some(({ httpStatus }) => httpStatus === 200)
  return { state: answers ? 'degraded' : 'unknown', reason }
}

/** Health as this coordinator reports it, and many other services. */
const statusFault = (body: unknown): string | undefined => {
  const status = fieldOf(body, 'status') ?? 'ok'
  return /^(ok|up|healthy|pass)$/i.test(String(status))
    ? undefined
    : `it reports ${status}`.slice(0, 100)
}

const readyFault = (body: unknown): string | undefined =>
  fieldOf(body, 'status') === 'UP' ? undefined : 'it does not report the status UP'

const realmFault = (realm: string) => (body: unknown) =>
  fieldOf(body, 'realm') === realm && typeof fieldOf(body, 'public_key') === 'string'
    ? undefined
    : `it is not the realm ${realm}`

const deepQuestions = (realm: string, address: string): Question[] => [
  {
    name: `discovery ${realm}`,
    url: `${address}/.well-known/openid-configuration`,
    findFault: body =>
      String(fieldOf(body, 'issuer')).endsWith(`/realms/${realm}`)
        ? undefined
        : `its issuer is not the realm ${realm}`,
  },
  {
    name: `keys ${realm}`,
    url: `${address}/protocol/openid-connect/certs`,
    findFault: body => {
      const keys = fieldOf(body, 'keys')
      return Array.isArray(keys) && keys.length > 0 ? undefined : 'it has no signing key'
    },
  },
]

/** Short id of an incident that a caller has not named: the same while service and fault are. */
export const incidentIdOf = (serviceId: string, failure: string): string =>
  `inc_${hash('sha256', `${serviceId} ${failure}`).slice(0, 12)}`
