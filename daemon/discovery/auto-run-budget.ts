import type { ScanModule } from '../../discovery/module.ts'
import { HOUR_MS } from '../../shared/time.ts'
import type { AutoRunUse } from '../../shared/wire/auto-run-use.ts'
import type { DiscoveryConfig } from './config.ts'

interface AutoRunBudgetParts {
  /** Read for each run, since a reload replaces its values. */
  config: Pick<DiscoveryConfig, 'auto_run'>
  /** Unix milliseconds. */
  now: () => number
  /** Monotonic milliseconds. */
  nowMs: () => number
}

/** Bounds what modules that run by themselves may find and send in an hour. */
export class AutoRunBudget {
  readonly #parts: AutoRunBudgetParts
  #endMs = Number.NEGATIVE_INFINITY
  #findings = 0
  #activeMs = 0

  constructor(parts: AutoRunBudgetParts) {
    this.#parts = parts
  }

  /** False for a module whose part of the budget is used up; a run that has begun may exceed it. */
  allows(module: ScanModule): boolean {
    this.#turnHour()
    const { max_findings_per_hour, max_active_seconds_per_hour } = this.#limits
    if (this.#findings >= max_findings_per_hour) return false
    return !isActive(module) || this.#activeMs < max_active_seconds_per_hour * 1000
  }

  /** Returns false when there is no room for one more finding in this hour. */
  takeFinding(): boolean {
    this.#turnHour()
    if (this.#findings >= this.#limits.max_findings_per_hour) return false
    this.#findings++
    return true
  }

  /** Charges the duration of a run, in milliseconds, to the hour in which it ends. */
  charge(module: ScanModule, elapsedMs: number): void {
    this.#turnHour()
    if (isActive(module)) this.#activeMs += elapsedMs
  }

  use(): AutoRunUse {
    this.#turnHour()
    const { now, nowMs } = this.#parts
    return {
      findings: this.#findings,
      max_findings: this.#limits.max_findings_per_hour,
      active_seconds: Math.round(this.#activeMs / 1000),
      max_active_seconds: this.#limits.max_active_seconds_per_hour,
      ends_at: Math.round(now() + this.#endMs - nowMs()),
    }
  }

  get #limits(): DiscoveryConfig['auto_run'] {
    return this.#parts.config.auto_run
  }

  #turnHour(): void {
    const now = this.#parts.nowMs()
    if (now < this.#endMs) return
    this.#endMs = now + HOUR_MS
    this.#findings = 0
    this.#activeMs = 0
  }
}

/** True for a module that contacts other machines or uses a radio. */
const isActive = (module: ScanModule): boolean =>
  module.reach !== 'host' && module.autoRun?.isPassive !== true
