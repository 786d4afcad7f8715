import { type Alert, alertKey } from './alert.ts'
import { ALERT_RULES, type Observation, rewordAfterMs } from './alert-rules.ts'

/** Changes of alerts that follow from one look at the fleet. */
export interface AlertChanges {
  raise: Observation[]
  clear: Alert[]
  /** Alerts whose message has changed. */
  reword: { alert: Alert; message: string }[]
}

/** One rule on one thing: how long it has been bad or good, in monotonic milliseconds. */
interface Watch {
  badSinceMs: number | undefined
  goodSinceMs: number | undefined
  wordedAtMs: number
}

/** Judges when a condition has lasted for long enough to raise its alert, or to clear it. */
export class AlertWatch {
  readonly #nowMs: () => number
  readonly #watches = new Map<string, Watch>()

  /** @param nowMs Monotonic milliseconds. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs
  }

  /**
   * Takes everything that a look at the whole fleet found, where what it does not mention is in
   * order, and the alerts that are raised.
   */
  look(observations: Iterable<Observation>, raised: Iterable<Alert>): AlertChanges {
    const alerts = new Map([...raised].map(alert => [alertKey(alert), alert]))
    const changes: AlertChanges = { raise: [], clear: [], reword: [] }
    const mentioned = new Set<string>()
    for (const observation of observations) {
      const key = alertKey(observation)
      mentioned.add(key)
      if (observation.state === 'bad') this.#markBad(observation, alerts.get(key), changes)
      else this.#hold(key)
    }
    for (const [key, alert] of alerts) {
      // a rule that is held for a whole cell is held for every part of it
      const isMentioned =
        mentioned.has(key) || mentioned.has(alertKey({ ...alert, part: undefined }))
      if (!isMentioned) this.#markGood(key, alert, changes)
    }
    for (const key of this.#watches.keys())
      if (!mentioned.has(key) && !alerts.has(key)) this.#watches.delete(key)
    return changes
  }

  #markBad(observation: Observation, alert: Alert | undefined, changes: AlertChanges): void {
    const nowMs = this.#nowMs()
    const watch = this.#watchOf(alertKey(observation))
    watch.badSinceMs ??= nowMs
    watch.goodSinceMs = undefined
    const { rule, message } = observation
    if (alert === undefined) {
      if (nowMs - watch.badSinceMs >= ALERT_RULES[rule].raiseAfterMs)
        changes.raise.push(observation)
      watch.wordedAtMs = nowMs
    } else if (alert.message !== message && nowMs - watch.wordedAtMs >= rewordAfterMs(rule)) {
      watch.wordedAtMs = nowMs
      changes.reword.push({ alert, message })
    }
  }

  #markGood(key: string, alert: Alert, changes: AlertChanges): void {
    const watch = this.#watchOf(key)
    watch.badSinceMs = undefined
    watch.goodSinceMs ??= this.#nowMs()
    const goodMs = this.#nowMs() - watch.goodSinceMs
    if (goodMs >= ALERT_RULES[alert.rule].clearAfterMs) changes.clear.push(alert)
  }

  /** Restarts both durations, because the state is neither good nor bad. */
  #hold(key: string): void {
    const watch = this.#watches.get(key)
    if (watch === undefined) return
    watch.badSinceMs = undefined
    watch.goodSinceMs = undefined
  }

  #watchOf(key: string): Watch {
    const known = this.#watches.get(key)
    if (known !== undefined) return known
    const watch = { badSinceMs: undefined, goodSinceMs: undefined, wordedAtMs: this.#nowMs() }
    this.#watches.set(key, watch)
    return watch
  }
}
