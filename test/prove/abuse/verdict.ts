import type { PhaseFigures } from './phase.ts'

/** Bounds on what the honest client may notice of an attack. */
const TIMES_QUIET = 5
/** Below this the scheduler of a busy machine decides, not the coordinator. */
const FLOOR_MS = 50
const HEALTHZ_MS = 100
const RSS_MIB = 600
const LOG_KIB_S = 10

/** Returns what an attack has broken, in words. Without times, only what holds on any machine. */
export const findFaults = (
  figures: PhaseFigures,
  quietP99Ms: number,
  { hasTimes = true }: { hasTimes?: boolean } = {},
): string[] => {
  const boundMs = TIMES_QUIET * Math.max(quietP99Ms, FLOOR_MS / TIMES_QUIET)
  const { attack, calls, failed, p99_ms, healthz_failed, healthz_p99_ms, mqtt_failed } = figures
  const checks: [boolean, string][] = [
    [failed > 0, `${failed} of ${calls} requests failed`],
    [healthz_failed > 0, `${healthz_failed} checks of /healthz failed`],
    [mqtt_failed > 0, `${mqtt_failed} cells could not greet over plain MQTT`],
    [figures.rss_mib > RSS_MIB, `${figures.rss_mib} MiB in memory, more than ${RSS_MIB}`],
    [figures.log_kib_s > LOG_KIB_S, `${figures.log_kib_s} KiB of log a second`],
    [hasTimes && !(p99_ms <= boundMs), `p99 ${p99_ms} ms, more than ${Math.round(boundMs)}`],
    [
      hasTimes && !(healthz_p99_ms <= HEALTHZ_MS),
      `p99 of /healthz ${healthz_p99_ms} ms, more than ${HEALTHZ_MS}`,
    ],
  ]
  return checks.filter(([isBroken]) => isBroken).map(([, words]) => `${attack}: ${words}`)
}
