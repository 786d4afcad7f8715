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
}

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
    this.#step = { phase, startedAt, firstPercent: undefined, percent: undefined, usualMs }
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
    const ms = this.#step && remainingMs(this.#step, this.#clock.now())
    if (ms === undefined) return undefined
    return Math.min(MOST_SECONDS, Math.max(1, Math.ceil(ms / 1000)))
  }

  /** Wait suggested to a refused caller, in seconds. */
  get retryAfterSeconds(): number {
    return this.remainingSeconds ?? UNKNOWN_SECONDS
  }

  report(): Pick<EngineReport, 'phase' | 'progress_percent' | 'remaining_seconds'> {
    if (this.#step === undefined) return {}
    const { phase, percent } = this.#step
    const seconds = this.remainingSeconds
    return {
      phase,
      ...(percent !== undefined && { progress_percent: percent }),
      ...(seconds !== undefined && { remaining_seconds: seconds }),
    }
  }

  #tell(): void {
    this.#toldAt = this.#clock.now()
    this.#onChange()
  }
}

const remainingMs = (step: Step, now: number): number | undefined => {
  const { startedAt, firstPercent = 0, percent = 0, usualMs } = step
  const elapsedMs = now - startedAt
  const done = percent - firstPercent
  if (done > 0 && elapsedMs > 0) return (elapsedMs * (100 - percent)) / done
  return usualMs === undefined ? undefined : Math.max(0, usualMs - elapsedMs)
}
