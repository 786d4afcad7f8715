import type { EngineReport, ModelState } from '../../shared/wire/telemetry.ts'
import type { HealthRegistry } from '../health.ts'
import type { Trouble } from './trial.ts'

interface TrialHealthOptions {
  health: Pick<HealthRegistry, 'view'>
  engines: () => EngineReport[]
  /** Milliseconds of a monotonic clock. */
  nowMs: () => number
}

/** Compares the health of services and engines during a trial with that before it. */
export class TrialHealth {
  readonly #options: TrialHealthOptions
  /** Services and engines that were healthy when the trial began. */
  #sound: string[] = []
  #troubleSinceMs: number | undefined

  constructor(options: TrialHealthOptions) {
    this.#options = options
  }

  /** Records the healthy services and engines; must be called when a trial begins. */
  begin(): void {
    this.#sound = this.#listHealthy('ready')
    this.#troubleSinceMs = undefined
  }

  /** @param needsUplink whether the trial must also keep the connection to the coordinator */
  findTrouble(needsUplink: boolean): Trouble | undefined {
    const { engines, nowMs } = this.#options
    const what = this.#findMissing(needsUplink)
    if (what === undefined) {
      this.#troubleSinceMs = undefined
      return undefined
    }
    this.#troubleSinceMs ??= nowMs()
    const isLoading = engines().some(({ state }) => state === 'loading')
    return { what, lastsMs: nowMs() - this.#troubleSinceMs, isLoading }
  }

  /** A cold engine counts as healthy: only a request would load it. */
  #findMissing(needsUplink: boolean): string | undefined {
    const healthy = new Set(this.#listHealthy('ready', 'cold'))
    const listed = new Set(this.#listAll())
    // weights that are not listed any more were taken out of the catalogue
    const gone = this.#sound.filter(name => listed.has(name) && !healthy.has(name))
    if (needsUplink && !healthy.has('uplink connection')) return 'the coordinator was not reached'
    return gone.length === 0 ? undefined : `not running any more: ${gone.join(', ')}`
  }

  #listAll(): string[] {
    const { health, engines } = this.#options
    return [...Object.keys(health.view()), ...engines().map(({ weights }) => weights)]
  }

  #listHealthy(...engineStates: ModelState[]): string[] {
    const services = Object.entries(this.#options.health.view())
    return [
      ...services.flatMap(([name, { state }]) => (state === 'running' ? [name] : [])),
      ...this.#options.engines().flatMap(({ weights, state, reason }) =>
        // a cold engine with a reason did not find enough memory
        engineStates.includes(state) && reason === undefined ? [weights] : [],
      ),
    ]
  }
}
