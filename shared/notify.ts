import { execFile } from 'node:child_process'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Logger } from 'pino'
import { wait as realWait, type Wait } from './wait.ts'

interface NotifyOptions {
  env: Record<string, string | undefined>
  /** Sends systemd one line, such as READY=1. */
  send: (line: string) => void
  signal: AbortSignal
  /** Longest stall of the event loop since the last call, in milliseconds. */
  longestStallMs: () => number
  /** False when the process cannot do its work although its event loop runs. */
  isHealthy: () => boolean
  wait?: Wait
}

/** Share of the watchdog interval; a longer stall of the event loop counts as unhealthy. */
const STALL_SHARE = 0.5

/**
 * Reports readiness, liveness and shutdown to systemd (sd_notify(3), sd_watchdog_enabled(3)).
 * Resolves when the signal has aborted. Does nothing without systemd.
 */
export const notifySystemd = async (options: NotifyOptions): Promise<void> => {
  const { env, send, signal, longestStallMs, isHealthy: healthy, wait = realWait } = options
  if (!env.NOTIFY_SOCKET) return
  send('READY=1')
  signal.addEventListener('abort', () => send('STOPPING=1'), { once: true })
  const watchdogMs = Number(env.WATCHDOG_USEC ?? 0) / 1000
  while (watchdogMs > 0 && !signal.aborted) {
    await wait(watchdogMs / 3, signal)
    const loopIsFine = longestStallMs() < watchdogMs * STALL_SHARE
    if (!signal.aborted && loopIsFine && healthy()) send('WATCHDOG=1')
  }
}

/** Sends through the systemd-notify program, since Node has no Unix datagram sockets. */
export const createSystemdNotify =
  (logger: Logger): ((line: string) => void) =>
  line => {
    execFile('systemd-notify', [line], { timeout: 5000 }, error => {
      if (error) logger.warn({ line, reason: error.message }, 'cannot notify systemd')
    })
  }

/** Measures stalls of the event loop until the signal aborts. */
export const createStallMeter = (signal: AbortSignal): (() => number) => {
  const delay = monitorEventLoopDelay({ resolution: 100 })
  delay.enable()
  signal.addEventListener('abort', () => delay.disable())
  return () => {
    const longest = delay.max / 1e6
    delay.reset()
    return longest
  }
}
