import type { PhaseMetrics } from './phase.ts'

/** Bounds on what the honest client may notice of an attack. */
const TIMES_QUIET = 5
/** Time below which the scheduler of a busy machine decides, not the coordinator. */
const FLOOR_MS = 50
const HEALTHZ_MS = 100
/** Processes that answer a request: one for a health check, and a cell as well for inference. */
const TIMES_CONTROL = 2
const TIMES_CONTROL_OVER_CELL = 3
const RSS_MIB = 600
const LOG_KIB_S = 10

interface Bounds {
  p99Ms: number
  healthzMs: number
}

/** Bounds that no attack exceeds, however slow it is: for machines of which nothing is known. */
export const NO_TIMES: Bounds = { p99Ms: Infinity, healthzMs: Infinity }

/** Bounds of time by the phase before all attacks. */
export const boundsOf = ({ p99_ms }: PhaseMetrics): Bounds => ({
  p99Ms: Math.max(TIMES_QUIET * p99_ms, FLOOR_MS),
  healthzMs: HEALTHZ_MS,
})

/** Returns what an attack has broken, in words. */
export const findFaults = (metrics: PhaseMetrics, bounds: Bounds): string[] => {
  // where the machine lets a bare server wait as well, the coordinator may take a few times that
  const healthzMs = Math.max(bounds.healthzMs, TIMES_CONTROL * metrics.control_p99_ms)
  const p99Ms = Math.max(bounds.p99Ms, TIMES_CONTROL_OVER_CELL * metrics.control_p99_ms)
  const { attack, calls, failed, p99_ms, healthz_failed, healthz_p99_ms, mqtt_failed } = metrics
  const checks: [boolean, string][] = [
    [failed > 0, `${failed} of ${calls} requests failed (${metrics.failures})`],
    [healthz_failed > 0, `${healthz_failed} checks of /healthz failed`],
    [mqtt_failed > 0, `${mqtt_failed} cells could not greet over plain MQTT`],
    [metrics.rss_mib > RSS_MIB, `${metrics.rss_mib} MiB in memory, more than ${RSS_MIB}`],
    [metrics.log_kib_s > LOG_KIB_S, `${metrics.log_kib_s} KiB of log a second`],
    [!(p99_ms <= p99Ms), `p99 ${p99_ms} ms, more than ${Math.round(p99Ms)}`],
    [
      !(healthz_p99_ms <= healthzMs),
      `p99 of /healthz ${healthz_p99_ms} ms, more than ${Math.round(healthzMs)}`,
    ],
  ]
  return checks.filter(([isBroken]) => isBroken).map(([, words]) => `${attack}: ${words}`)
}
