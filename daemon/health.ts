import type { Logger } from 'pino'

/** State of a service; `waiting` means that it will be retried, or has no peer at the moment. */
export type ServiceState = 'starting' | 'running' | 'waiting' | 'stopped'

interface ServiceHealth {
  state: ServiceState
  /** Reason why the service is not running, in plain words. */
  reason: string | undefined
  /** Unix time in milliseconds. */
  since: number
}

/** Registry of every service's state. */
export interface HealthRegistry {
  report(service: string, state: ServiceState, reason?: string): void
  view(): Record<string, ServiceHealth>
}

export const createHealth = (logger: Logger, now: () => number = Date.now): HealthRegistry => {
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

/** A service that starts takes less, whatever it waits for. */
const STUCK_MS = 60_000

/**
 * False once a supervisor should restart the process: a service hangs in its start, or samples can
 * reach neither the coordinator nor the disk.
 */
export const isSound = (view: Record<string, ServiceHealth>, now: number): boolean => {
  const isStuck = ({ state, since }: ServiceHealth) =>
    state === 'starting' && now - since > STUCK_MS
  const ways = [view['uplink connection'], view.spool].filter(way => way !== undefined)
  const hasWay = ways.length === 0 || ways.some(({ state }) => state !== 'waiting')
  return hasWay && !Object.values(view).some(isStuck)
}
