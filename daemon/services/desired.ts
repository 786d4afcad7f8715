import type { Logger } from 'pino'
import { wait as realWait, type Wait } from '../../shared/wait.ts'
import type { CellSettings, Desired } from '../../shared/wire/desired.ts'
import type { EngineReport, ModelState } from '../../shared/wire/telemetry.ts'
import { type Believing, genuineDesired, isStale } from '../desired/believable.ts'
import { readDesired, writeDesired } from '../desired/desired-file.ts'
import type { OpenBirths } from '../desired/freshness.ts'
import {
  type Event,
  isOwnTrial,
  reportOf,
  type State,
  type Step,
  settingsIn,
  step,
  type Trouble,
} from '../desired/trial.ts'
import type { Health } from '../health.ts'
import type { Service } from '../service.ts'
import type { Uplink } from '../uplink/uplink.ts'

export interface DesiredOptions {
  stateDir: string
  uplink: Pick<Uplink, 'on' | 'onReady' | 'publish'>
  /** The settings of the cell's own file. */
  local: CellSettings
  /** Brings settings into force. */
  apply: (settings: CellSettings) => Promise<void>
  health: Pick<Health, 'view'>
  engines: () => EngineReport[]
  /** Keys that the cell trusts; without it, every publisher is trusted. */
  believing?: () => Believing
  births?: Pick<OpenBirths, 'take'>
  /** Has the coordinator say again what it wants, by another birth. */
  askAgain?: () => void
  logger: Logger
  /** Milliseconds of a clock that never goes back. */
  nowMs?: () => number
  wait?: Wait
}

export interface DesiredService extends Service {
  /** The cell's own file was read again; resolves when it is in force, on probation. */
  reload(local: CellSettings): Promise<void>
}

const TICK_MS = 1000
/** Interval between births that are only sent because settings were not trusted. */
const ASK_AGAIN_MS = 10_000

/** Takes settings from the coordinator, tries them, and goes back to the last that held. */
export const desiredService = (options: DesiredOptions): DesiredService => {
  const { stateDir, uplink, apply, health, engines, logger } = options
  const { nowMs = () => performance.now(), wait = realWait } = options
  let state: State = { good: { local: options.local, wanted: { version: 0, document: {} } } }
  let last: Promise<void> = Promise.resolve()
  /** Services that were healthy when the trial began. */
  let sound: string[] = []
  let troubleSinceMs: number | undefined
  let highest = 0
  let askedAtMs = Number.NEGATIVE_INFINITY

  const well = (...engineStates: ModelState[]): string[] => [
    ...Object.entries(health.view()).flatMap(([name, { state }]) =>
      state === 'running' ? [name] : [],
    ),
    ...engines().flatMap(({ weights, state, reason }) =>
      // a cold one with a reason found no memory
      engineStates.includes(state) && reason === undefined ? [weights] : [],
    ),
  ]

  const report = (): void => {
    // Without a connection the report goes out after the next connect
    uplink.publish('reported', reportOf(state)).catch(() => {})
  }

  /** One event after the other, each whole. */
  const inTurn = (run: () => Promise<void>): Promise<void> => {
    last = last
      .then(run)
      .catch(error => logger.error({ reason: error.message.slice(0, 300) }, 'settings failed'))
    return last
  }
  const happen = (event: Event): Promise<void> => inTurn(() => take(event))

  const take = async (event: Event): Promise<void> => {
    const before = state
    const next = step(state, event)
    if (next.state === before && event.type === 'tick') return
    if (next.state.trial && !before.trial) {
      sound = well('ready')
      troubleSinceMs = undefined
    }
    await enter(next)
    if (next.state !== before) logChange(logger, state)
    report()
  }

  /**
   * Writes a trial to disk before it takes effect, so that a crash it causes is attributed to it.
   */
  const enter = async ({ state: next, apply: settings }: Step): Promise<void> => {
    const changed = next !== state
    state = next
    if (changed) await writeDesired(stateDir, state, logger, highest)
    if (settings === undefined) return
    await apply(settings).catch(error => enter(step(state, notApplied(error))))
  }

  /** An engine that is loaded by its first request proves nothing before. */
  const missing = (): string | undefined => {
    const now = new Set(well('ready', 'cold'))
    const gone = sound.filter(name => !now.has(name))
    // The request came over this connection; before a trial of the own file it may have been down
    if (!now.has('uplink connection') && !isOwnTrial(state))
      return 'the coordinator was not reached'
    return gone.length === 0 ? undefined : `not running any more: ${gone.join(', ')}`
  }

  const trouble = (): Trouble | undefined => {
    const what = missing()
    if (what === undefined) troubleSinceMs = undefined
    else troubleSinceMs ??= nowMs()
    if (what === undefined || troubleSinceMs === undefined) return undefined
    const isLoading = engines().some(({ state }) => state === 'loading')
    return { what, lastsMs: nowMs() - troubleSinceMs, isLoading }
  }

  const load = async (): Promise<void> => {
    const read = await readDesired(stateDir)
    const { good, failure } = read
    highest = read.highest
    state = { good: { ...state.good, wanted: good }, ...(failure && { failure }) }
    await writeDesired(stateDir, state, logger, highest)
  }

  /** Rejects settings that may be genuine but early or late, and asks for a fresh answer. */
  const disbelieve = (reason: string, version?: number): void => {
    logger.warn({ reason, version, highest }, 'settings are not believed')
    if (nowMs() - askedAtMs < ASK_AGAIN_MS) return
    askedAtMs = nowMs()
    options.askAgain?.()
  }

  const hear = async (body: unknown): Promise<void> => {
    const { believing = () => ({ cellId: '', trusted: [] }), births } = options
    const desired: Desired | undefined = genuineDesired(body, believing())
    if (desired === undefined) return disbelieve('not signed by the coordinator for this cell')
    const { version, document, answers } = desired
    const isAnswer = births === undefined || births.take(answers)
    const event: Event = { type: 'desired', wanted: { version, document }, nowMs: nowMs() }
    const isNothingNew = step(state, event).state === state
    if (isStale(desired, { highest, isAnswer, isNothingNew }))
      return disbelieve('older than what was believed before', version)
    highest = Math.max(highest, version)
    await take(event)
  }

  return {
    name: 'desired',
    reload: local => happen({ type: 'reload', local, nowMs: nowMs() }),
    start: async ({ signal, fail }) => {
      last = last.then(load)
      const undo = [
        uplink.on('desired', ({ body }) => {
          void inTurn(() => hear(body))
        }),
        uplink.onReady(() => void last.then(report)),
      ]
      signal.addEventListener('abort', () => {
        for (const off of undo) off()
        // what is on probation when the daemon ends on purpose has not failed: it is wanted again
        last = last.then(() => {
          const { trial, ...proven } = state
          return trial && writeDesired(stateDir, proven, logger, highest)
        })
      })
      const watch = async (): Promise<void> => {
        while (!signal.aborted) {
          await wait(TICK_MS, signal)
          if (signal.aborted || state.trial === undefined) continue
          await happen({ type: 'tick', nowMs: nowMs(), trouble: trouble() })
        }
      }
      watch().catch(fail)
      await last
    },
  }
}

const notApplied = (error: Error): Event => ({ type: 'not applied', message: error.message })

const logChange = (logger: Logger, state: State): void => {
  const { state: outcome, applied_version, errors } = reportOf(state)
  const settings = settingsIn(state.trial?.basis ?? state.good)
  const level = outcome === 'refused' || outcome === 'rolled_back' ? 'warn' : 'info'
  logger[level]({ state: outcome, version: applied_version, errors, settings }, 'settings')
}
