import type { EngineReport } from '../../shared/wire/telemetry.ts'
import type { Clock } from './clock.ts'

type Phase = 'downloading' | 'checking' | 'loading'

/** Progress of one step; the share that was present at its start says nothing about the speed. */
interface Step {
  phase: Phase
  startedAt: number
  firstPercent: number | undefined
  percent: number | undefined
  /** Duration of the whole step the last time, in milliseconds. */
  usualMs: number | undefined
  download: Download | undefined
}

/** Bytes of a download; those that were present at its start say nothing about the speed. */
interface Download {
  firstBytes: number
  bytes: number
  totalBytes: number | undefined
}

type ProgressReport = Pick<
  EngineReport,
  | 'phase'
  | 'progress_percent'
  | 'remaining_seconds'
  | 'downloaded_bytes'
  | 'download_total_bytes'
  | 'download_bytes_per_second'
>

/** Interval between progress reports. */
const TELL_MS = 1000
/** Estimate while the speed is unknown. */
const UNKNOWN_SECONDS = 5
const MOST_SECONDS = 3600

/** Progress of a model towards being ready. */
export class LoadProgress {
  readonly #clock: Clock
  readonly #onChange: () => void
  #step: Step | undefined
  #toldAt = 0

  constructor(clock: Clock, onChange: () => void) {
    this.#clock = clock
    this.#onChange = onChange
  }

  /** Begins a phase; no effect when it is already running. */
  begin(phase: Phase, usualMs?: number): void {
    if (this.#step?.phase === phase) return
    const first = this.#step === undefined
    const startedAt = this.#clock.now()
    this.#step = {
      phase,
      startedAt,
      firstPercent: undefined,
      percent: undefined,
      usualMs,
      download: undefined,
    }
    if (!first) this.#tell()
  }

  /** @param percent 0 to 100 */
  setPercent(percent: number): void {
    const step = this.#step
    if (step === undefined || !Number.isFinite(percent)) return
    step.percent = Math.min(100, Math.max(0, Math.round(percent * 10) / 10))
    step.firstPercent ??= step.percent
    if (this.#clock.now() - this.#toldAt >= TELL_MS) this.#tell()
  }

  /** Records how much of a file has been downloaded. */
  setBytes(bytes: number, totalBytes: number | undefined): void {
    const step = this.#step
    if (step === undefined) return
    step.download = { firstBytes: step.download?.firstBytes ?? bytes, bytes, totalBytes }
    if (totalBytes !== undefined && totalBytes > 0) this.setPercent((100 * bytes) / totalBytes)
    else if (this.#clock.now() - this.#toldAt >= TELL_MS) this.#tell()
  }

  /** Ends the progress: the model is ready, or its load was abandoned. */
  end(): void {
    this.#step = undefined
  }

  /** `loading, 43 %` */
  get text(): string {
    const { phase = 'loading', percent } = this.#step ?? {}
    const word = phase === 'checking' ? 'being checked' : phase
    return percent === undefined ? word : `${word}, ${Math.floor(percent)} %`
  }

  /** Estimate for the rest of the step in whole seconds; undefined while the speed is unknown. */
  get remainingSeconds(): number | undefined {
    const ms = this.#step && estimateRemainingMs(this.#step, this.#clock.now())
    if (ms === undefined) return undefined
    return Math.min(MOST_SECONDS, Math.max(1, Math.ceil(ms / 1000)))
  }

  /** Wait suggested to a refused caller, in seconds. */
  get retryAfterSeconds(): number {
    return this.remainingSeconds ?? UNKNOWN_SECONDS
  }

  report(): ProgressReport {
    if (this.#step === undefined) return {}
    const { phase, percent, download, startedAt } = this.#step
    const seconds = this.remainingSeconds
    return {
      phase,
      ...(percent !== undefined && { progress_percent: percent }),
      ...(seconds !== undefined && { remaining_seconds: seconds }),
      ...(download && reportDownload(download, this.#clock.now() - startedAt)),
    }
  }

  #tell(): void {
    this.#toldAt = this.#clock.now()
    this.#onChange()
  }
}

const estimateRemainingMs = (step: Step, now: number): number | undefined => {
  const { startedAt, firstPercent = 0, percent = 0, usualMs } = step
  const elapsedMs = now - startedAt
  const done = percent - firstPercent
  if (done > 0 && elapsedMs > 0) return (elapsedMs * (100 - percent)) / done
  return usualMs === undefined ? undefined : Math.max(0, usualMs - elapsedMs)
}

const reportDownload = (
  { firstBytes, bytes, totalBytes }: Download,
  elapsedMs: number,
): ProgressReport => ({
  downloaded_bytes: bytes,
  ...(totalBytes !== undefined && { download_total_bytes: totalBytes }),
  ...(elapsedMs > 0 && {
    download_bytes_per_second: Math.round(((bytes - firstBytes) * 1000) / elapsedMs),
  }),
})
