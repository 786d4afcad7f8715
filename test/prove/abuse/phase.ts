import { cpuMs, percentile, type ReportRow, round, rssMiB } from '../../../bench/measure.ts'
import { pause } from '../../support/wait-until.ts'
import type { Call } from './honest-client.ts'
import type { AbuseScene } from './scene.ts'

const SAMPLE_MS = 100
const LISTED_FAILURES = 5

/** Figures of the honest client and the coordinator during one attack. */
export interface PhaseMetrics extends ReportRow {
  attack: string
  /** Inference calls of the whole phase, and those that got no whole 200. */
  calls: number
  failed: number
  /** How some of those ended. */
  failures: string
  /** Milliseconds, of inference calls after the attack has settled. */
  p50_ms: number
  p99_ms: number
  healthz_p99_ms: number
  /** Latency of the bare control server, in milliseconds. */
  control_p99_ms: number
  healthz_failed: number
  mqtt_failed: number
  /** The most memory in RAM. */
  rss_mib: number
  cpu_percent: number
  log_kib_s: number
}

export interface PhasePlan {
  name: string
  /** Begins the attack; the result ends it. */
  begin: (scene: AbuseScene) => Promise<() => Promise<void>>
  /** Time in which the coordinator may find out, milliseconds. */
  settleMs: number
  measureMs: number
}

/** Runs one attack beside the honest client, and reads what came of it. */
export const runPhase = async (scene: AbuseScene, plan: PhasePlan): Promise<PhaseMetrics> => {
  const startMs = now()
  const meter = watchProcess(scene)
  const end = await plan.begin(scene)
  await pause(plan.settleMs)
  const settledMs = now()
  await pause(plan.measureMs)
  const endMs = now()
  const metrics = meter.stop()
  await end()
  await scene.drain()
  const during = scene.calls.filter(({ startedAt }) => startedAt >= startMs && startedAt < endMs)
  return { attack: plan.name, ...countCalls(during, settledMs), ...metrics }
}

const now = (): number => performance.timeOrigin + performance.now()

const isInference = ({ kind }: Call): boolean =>
  kind === 'plain' || kind === 'stream' || kind === 'embedding'

const countCalls = (calls: readonly Call[], settledMs: number) => {
  const listFailed = (kinds: readonly Call[]) => kinds.filter(({ status }) => status !== 200)
  const failedOf = (kinds: readonly Call[]) => listFailed(kinds).length
  const of = (kind: Call['kind']) => calls.filter(call => call.kind === kind)
  const inference = calls.filter(isInference)
  const settled = inference.filter(({ startedAt }) => startedAt >= settledMs)
  const timesOf = (kinds: readonly Call[]) => kinds.map(({ milliseconds }) => milliseconds)
  return {
    calls: inference.length,
    failed: failedOf(inference),
    failures: listFailed(inference).slice(0, LISTED_FAILURES).map(describeFailure).join('; '),
    p50_ms: round(percentile(timesOf(settled), 50)),
    p99_ms: round(percentile(timesOf(settled), 99)),
    healthz_p99_ms: round(percentile(timesOf(of('healthz')), 99)),
    control_p99_ms: round(percentile(timesOf(of('control')), 99)),
    healthz_failed: failedOf(of('healthz')),
    mqtt_failed: failedOf(of('mqtt')),
  }
}

const describeFailure = ({ kind, status, milliseconds, reason }: Call): string =>
  `${kind} ${status} after ${Math.round(milliseconds)} ms: ${reason.replace(/\s+/g, ' ')}`

/** Follows memory, CPU and log of the coordinator. */
const watchProcess = ({ coordinator }: AbuseScene) => {
  const { pid, lines } = coordinator
  const startMs = performance.now()
  const startCpuMs = cpuMs(pid)
  const startLine = lines.length
  let most = 0
  const look = (): void => {
    most = Math.max(most, rssMiB(pid))
  }
  const timer = setInterval(look, SAMPLE_MS)
  return {
    stop: () => {
      clearInterval(timer)
      look()
      const seconds = (performance.now() - startMs) / 1000
      const logged = lines.slice(startLine).reduce((sum, line) => sum + line.length + 1, 0)
      return {
        rss_mib: most,
        cpu_percent: Math.round((cpuMs(pid) - startCpuMs) / seconds / 10),
        log_kib_s: round(logged / 1024 / seconds),
      }
    },
  }
}
