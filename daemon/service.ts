/**
 * One duty of the daemon. Building a service has no effect; `start` does.
 */
export interface Service {
  name: string
  /**
   * Resolves when the service is usable. After the signal aborts it lets go of every handle.
   * A failure later is told through `fail`; the supervisor then starts it again, after a pause.
   */
  start(context: ServiceContext): Promise<void>
}

export interface ServiceContext {
  signal: AbortSignal
  fail: (error: Error) => void
}
