/**
 * One duty of the daemon. Building a service has no effect; `start` does.
 */
export interface Service {
  name: string
  /**
   * Resolves when the service is usable. The service releases every handle once the signal aborts.
   * It reports later failures through `fail`; the supervisor then restarts it after a pause.
   */
  start(context: ServiceContext): Promise<void>
}

export interface ServiceContext {
  signal: AbortSignal
  fail: (error: Error) => void
}
