import type { Logger } from 'pino'

/** `waiting` is a service that will be tried again, or that has nobody to talk to right now. */
export type ServiceState = 'starting' | 'running' | 'waiting' | 'stopped'

export interface ServiceHealth {
  state: ServiceState
  /** Why it is not running, in plain words. */
  reason: string | undefined
  /** Unix time in milliseconds. */
  since: number
}

/** The one place where every service's state is told. */
export interface Health {
  report(service: string, state: ServiceState, reason?: string): void
  view(): Record<string, ServiceHealth>
}

export const createHealth = (logger: Logger, now: () => number = Date.now): Health => {
  const services = new Map<string, ServiceHealth>()
  return {
    report: (service, state, reason) => {
      const before = services.get(service)
      if (before?.state === state && before.reason === reason) return
      services.set(service, { state, reason, since: now() })
      logger[state === 'waiting' ? 'warn' : 'info']({ service, state, reason }, 'service state')
    },
    view: () => Object.fromEntries(services),
  }
}
