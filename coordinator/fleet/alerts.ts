import { ShoalError } from '../../shared/errors.ts'
import { newId } from '../../shared/ids.ts'
import { ALERT_RULES, type AlertLevel, type AlertRule, type Observation } from './alert-rules.ts'

export interface Alert {
  id: string
  rule: AlertRule
  level: AlertLevel
  /** Undefined when it is about the whole fleet or the coordinator itself. */
  cellId: string | undefined
  /**
   * GPU id or engine weights within the cell; undefined when the alert is not about one of them.
   */
  part: string | undefined
  message: string
  /** Unix milliseconds. */
  raisedAt: number
  clearedAt: number | undefined
  /** Somebody looks after it. */
  acknowledged: Acknowledgement | undefined
}

interface Acknowledgement {
  /** Id of the person. */
  by: string
  /** Unix milliseconds. */
  at: number
  note: string
}

export interface Alerts {
  /** Everything that a look at the whole fleet found; what it does not mention is in order. */
  look(observations: Iterable<Observation>): void
  /** Newest first: those that are raised, then the last ones that were cleared. */
  list(): Alert[]
  /**
   * Says who looks after an alert, or, without one, that nobody does any more. Throws `not_found`.
   */
  acknowledge(id: string, by: Omit<Acknowledgement, 'at'> | undefined): Alert
}

interface AlertsParts {
  /** Monotonic milliseconds. */
  nowMs: () => number
  /** Unix time, milliseconds. */
  now: () => number
  onChange: (alert: Alert, what: 'raised' | 'cleared' | 'acknowledged' | 'reopened') => void
}

/** One rule on one thing: how long it has been bad or good, and the alert while there is one. */
interface Watch {
  badSinceMs: number | undefined
  goodSinceMs: number | undefined
  alert: Alert | undefined
}

const CLEARED_KEPT = 200

/** Raises an alert once, and clears it when its cause has been away for a while. */
export const createAlerts = ({ nowMs, now, onChange }: AlertsParts): Alerts => {
  const watches = new Map<string, Watch>()
  const cleared: Alert[] = []

  const raise = (watch: Watch, { rule, cellId, part, message }: Observation): void => {
    const { level } = ALERT_RULES[rule]
    const id = newId('alert', now())
    const open = { clearedAt: undefined, acknowledged: undefined }
    watch.alert = { id, rule, level, cellId, part, message, raisedAt: now(), ...open }
    onChange(watch.alert, 'raised')
  }

  const clear = (key: string, { alert }: Watch): void => {
    watches.delete(key)
    if (alert === undefined) return
    alert.clearedAt = now()
    cleared.unshift(alert)
    cleared.length = Math.min(cleared.length, CLEARED_KEPT)
    onChange(alert, 'cleared')
  }

  const markBad = (key: string, observation: Observation): void => {
    const known = watches.get(key)
    const watch = known ?? { badSinceMs: undefined, goodSinceMs: undefined, alert: undefined }
    if (known === undefined) watches.set(key, watch)
    watch.badSinceMs ??= nowMs()
    watch.goodSinceMs = undefined
    if (watch.alert) watch.alert.message = observation.message
    else if (nowMs() - watch.badSinceMs >= ALERT_RULES[observation.rule].raiseAfterMs)
      raise(watch, observation)
  }

  const markGood = (key: string, watch: Watch): void => {
    if (watch.alert === undefined) {
      watches.delete(key)
      return
    }
    watch.goodSinceMs ??= nowMs()
    if (nowMs() - watch.goodSinceMs >= ALERT_RULES[watch.alert.rule].clearAfterMs) clear(key, watch)
  }

  const look: Alerts['look'] = observations => {
    const mentioned = new Set<string>()
    for (const observation of observations) {
      const { rule, cellId = '', part, state } = observation
      const key = keyOf(rule, cellId, part)
      mentioned.add(key)
      if (state === 'bad') markBad(key, observation)
      else hold(watches.get(key))
    }
    for (const [key, watch] of watches) {
      const { rule, cellId = '' } = watch.alert ?? {}
      // a rule that is held for a whole cell is held for every part of it
      if (mentioned.has(key) || (rule && mentioned.has(keyOf(rule, cellId, undefined)))) continue
      markGood(key, watch)
    }
  }

  const list = (): Alert[] => {
    const raised = [...watches.values()].flatMap(watch => watch.alert ?? [])
    return [...raised.sort((a, b) => b.raisedAt - a.raisedAt), ...cleared]
  }

  const acknowledge: Alerts['acknowledge'] = (id, by) => {
    const alert = list().find(each => each.id === id)
    if (alert === undefined) throw new ShoalError('not_found', `no alert ${id}`)
    alert.acknowledged = by && { ...by, at: now() }
    onChange(alert, by === undefined ? 'reopened' : 'acknowledged')
    return alert
  }
  return { look, list, acknowledge }
}

/** Restarts both durations, because the state is neither good nor bad. */
const hold = (watch: Watch | undefined): void => {
  if (watch === undefined) return
  watch.badSinceMs = undefined
  watch.goodSinceMs = undefined
}

const keyOf = (rule: AlertRule, cellId: string, part: string | undefined): string =>
  `${rule} ${cellId} ${part ?? ''}`
