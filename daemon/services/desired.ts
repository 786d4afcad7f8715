import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { ReceivedSettings } from '../../shared/wire/desired.ts'
import type { ReceivedEnvelopes } from '../../shared/wire/safety-envelope.ts'
import type { EngineReport } from '../../shared/wire/telemetry.ts'
import { genuineDesired, isStale, type TrustContext } from '../desired/believable.ts'
import { readDesired, writeDesired } from '../desired/desired-file.ts'
import type { OpenBirths } from '../desired/freshness.ts'
import {
  type Event,
  hasUnreadLimits,
  isOwnTrial,
  reportOf,
  settingsIn,
  step,
  type TrialState,
  type TrialStep,
} from '../desired/trial.ts'
import { TrialHealth } from '../desired/trial-health.ts'
import type { HealthRegistry } from '../health.ts'
import type { Service } from '../service.ts'
import type { Uplink } from '../uplink/uplink.ts'

interface DesiredOptions {
  stateDir: string
  uplink: Pick<Uplink, 'on' | 'onReady' | 'onEnd' | 'publishToAll'>
  /** Settings of the cell's own file. */
  local: ReceivedSettings
  /** Time for which new settings must prove that the cell lives on with them. */
  probationMs: number
  /** Brings settings into force. */
  apply: (settings: ReceivedSettings, envelopes: ReceivedEnvelopes) => Promise<void>
  health: Pick<HealthRegistry, 'view'>
  engines: () => EngineReport[]
  /** Keys that the cell trusts; without it, every publisher is trusted. */
  trustedKeys?: () => TrustContext
  births?: Pick<OpenBirths, 'take'>
  /** Sends another birth, so that the coordinator repeats its settings. */
  askAgain?: () => void
  logger: Logger
  /** Milliseconds of a monotonic clock. */
  nowMs?: () => number
  wait?: Wait
}

const TICK_MS = 1000
/** Interval between births that are only sent because settings were not trusted. */
const ASK_AGAIN_MS = 10_000
/** Time that coordinators have to agree, for instance after a rotation of the signing key. */
const AGREE_MS = 5000

/** Takes settings from the coordinators, tries them, and returns to the last that held. */
export class DesiredService implements Service {
  readonly name = 'desired'
  readonly #options: DesiredOptions
  readonly #nowMs: () => number
  readonly #health: TrialHealth
  #state: TrialState
  /** Resolves when all events so far have been handled. */
  #last: Promise<void> = Promise.resolve()
  /** Highest version that was ever trusted. */
  #highest = 0
  #askedAtMs = Number.NEGATIVE_INFINITY
  /** Version that each connected coordinator wants, by its id. */
  readonly #wanted = new Map<string, number>()
  /** Time of the first rejection since settings of a coordinator were last trusted, by its id. */
  readonly #doubtedAtMs = new Map<string, number>()
  /** True while coordinators want different versions. */
  #isDisputed = false

  constructor(options: DesiredOptions) {
    const { health, engines, local, nowMs = () => performance.now() } = options
    this.#options = options
    this.#nowMs = nowMs
    this.#health = new TrialHealth({ health, engines, nowMs })
    this.#state = { good: { local, wanted: { version: 0, document: {} } } }
  }

  /** Resolves when the cell's own file, read again, is in force, on probation. */
  reload(local: ReceivedSettings): Promise<void> {
    return this.#handle({ type: 'reload', local, untilMs: this.#probationEnd() })
  }

  async start({ signal, fail }: Parameters<Service['start']>[0]): Promise<void> {
    const { uplink } = this.#options
    this.#last = this.#last.then(() => this.#load())
    const undo = [
      uplink.on(
        'desired',
        ({ body }, replica) => void this.#runInTurn(() => this.#receive(body, replica)),
      ),
      uplink.onEnd(replica => void this.#runInTurn(async () => this.#forget(replica))),
      uplink.onReady(session => {
        const report = () => session.publish('reported', reportOf(this.#state))
        this.#last.then(report).catch(() => {})
      }),
    ]
    signal.addEventListener('abort', () => {
      for (const off of undo) off()
      this.#last = this.#last.then(() => this.#forgetTrial())
    })
    this.#watch(signal).catch(fail)
    await this.#last
  }

  #probationEnd(): number {
    return this.#nowMs() + this.#options.probationMs
  }

  /** Handles events one after the other, each completely. */
  #runInTurn(run: () => Promise<void>): Promise<void> {
    this.#last = this.#last
      .then(run)
      .catch(error =>
        this.#options.logger.error({ reason: error.message.slice(0, 300) }, 'settings failed'),
      )
    return this.#last
  }

  #handle(event: Event): Promise<void> {
    return this.#runInTurn(() => this.#take(event))
  }

  async #take(event: Event): Promise<void> {
    const before = this.#state
    const next = step(before, event)
    if (next.state === before && event.type === 'tick') return
    if (next.state.trial && !before.trial) this.#health.begin()
    await this.#enter(next)
    if (next.state !== before) logChange(this.#options.logger, this.#state)
    this.#report()
  }

  /**
   * Writes a trial to disk before it takes effect, so that a crash it causes is attributed to it.
   */
  async #enter({ state, apply: settings }: TrialStep): Promise<void> {
    const changed = state !== this.#state
    this.#state = state
    if (changed) await this.#write(state)
    if (settings === undefined) return
    const { wanted } = state.trial?.basis ?? state.good
    const envelopes = hasUnreadLimits(wanted) ? 'unreadable' : (settings.envelopes ?? {})
    await this.#options
      .apply(settings, envelopes)
      .catch(error => this.#enter(step(this.#state, applyFailure(error))))
  }

  #report(): void {
    // The report of a disconnected cell is published after the next connect
    this.#options.uplink.publishToAll('reported', reportOf(this.#state)).catch(() => {})
  }

  #forget(replica: string): void {
    this.#wanted.delete(replica)
    this.#doubtedAtMs.delete(replica)
  }

  async #receive(body: unknown, replica: string): Promise<void> {
    const { trustedKeys = () => ({ cellId: '', trusted: [] }), births } = this.#options
    const desired = genuineDesired(body, trustedKeys())
    if (desired === undefined)
      return this.#reject(replica, 'not signed by the coordinator for this cell')
    const { version, document, answers } = desired
    const isAnswer = births === undefined || births.take(answers)
    const wanted = { version, document }
    const event: Event = { type: 'desired', wanted, untilMs: this.#probationEnd() }
    const isNothingNew = step(this.#state, event).state === this.#state
    if (isStale(desired, { highest: this.#highest, isAnswer, isNothingNew }))
      return this.#reject(replica, 'older than the settings that were trusted before', version)
    this.#highest = Math.max(this.#highest, version)
    this.#wanted.set(replica, version)
    this.#isDisputed = version < Math.max(...this.#wanted.values())
    if (this.#isDisputed)
      return this.#reject(replica, 'older than those of another coordinator', version)
    this.#doubtedAtMs.delete(replica)
    await this.#take(event)
  }

  /**
   * Rejects settings that may be genuine but early or late, and asks for a fresh answer. They are
   * worth a warning when the coordinator still sends such settings after it had time to agree.
   */
  #reject(replica: string, reason: string, version?: number): void {
    const doubtedAtMs = this.#doubtedAtMs.get(replica) ?? this.#nowMs()
    this.#doubtedAtMs.set(replica, doubtedAtMs)
    const level = this.#nowMs() - doubtedAtMs < AGREE_MS ? 'info' : 'warn'
    const { logger } = this.#options
    logger[level]({ replica, reason, version, highest: this.#highest }, 'settings are not trusted')
    this.#askFreshly()
  }

  /** Asks for the present settings by a birth, which every coordinator answers. */
  #askFreshly(): void {
    if (this.#nowMs() - this.#askedAtMs < ASK_AGAIN_MS) return
    this.#askedAtMs = this.#nowMs()
    this.#options.askAgain?.()
  }

  async #watch(signal: AbortSignal): Promise<void> {
    const { wait = realWait } = this.#options
    while (!signal.aborted) {
      await wait(TICK_MS, signal)
      if (signal.aborted) return
      if (this.#isDisputed) this.#askFreshly()
      if (this.#state.trial === undefined) continue
      // The coordinator's settings came over the connection; before a trial of the cell's own file
      // it may have been down
      const trouble = this.#health.findTrouble(!isOwnTrial(this.#state))
      await this.#handle({ type: 'tick', nowMs: this.#nowMs(), trouble })
    }
  }

  async #load(): Promise<void> {
    const { good, failure, highest } = await readDesired(this.#options.stateDir)
    this.#highest = highest
    if (failure?.state === 'refused')
      this.#options.logger.warn({ errors: failure.errors }, 'stored settings are not all in force')
    this.#state = { good: { ...this.#state.good, wanted: good }, ...(failure && { failure }) }
    await this.#write(this.#state)
  }

  /** Settings on probation when the daemon ends on purpose have not failed: they are sent again. */
  async #forgetTrial(): Promise<void> {
    const { trial, ...proven } = this.#state
    if (trial) await this.#write(proven)
  }

  #write(state: TrialState): Promise<void> {
    return writeDesired(this.#options.stateDir, state, this.#options.logger, this.#highest)
  }
}

const applyFailure = (error: Error): Event => ({ type: 'not applied', message: error.message })

const logChange = (logger: Logger, state: TrialState): void => {
  const { state: outcome, applied_version, errors } = reportOf(state)
  const settings = settingsIn(state.trial?.basis ?? state.good)
  const level = outcome === 'refused' || outcome === 'rolled_back' ? 'warn' : 'info'
  logger[level]({ state: outcome, version: applied_version, errors, settings }, 'settings')
}
