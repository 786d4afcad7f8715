import type { Logger } from 'pino'
import { ShoalError } from '../../../shared/errors.ts'
import { createUnknownError } from '../../../shared/reference-errors.ts'
import type { Runtime } from '../../../shared/runtime.ts'
import { type Actor, appendAudit } from '../../kernel/audit/audit.ts'
import { type ChangeFollower, followChanges } from '../../kernel/base/follow-changes.ts'
import { splitList } from '../../kernel/base/split-list.ts'
import type { EventDraft, Events } from '../../kernel/events/bus.ts'
import { afterCommit } from '../../kernel/store/after-commit.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { Ledger, SealedTrx, Store } from '../../kernel/store/store.ts'
import { type Alert, alertData, isRaised } from './alert.ts'
import {
  clearAlerts,
  findAlert,
  pruneAlerts,
  raiseAlerts,
  readAlerts,
  rewordAlert,
  setAcknowledged,
} from './alert-rows.ts'
import type { AlertChanges } from './alert-watch.ts'

interface AlertsParts {
  store: Pick<Store, 'ledger' | 'revisions'>
  events: Pick<Events, 'addWithin'>
  moreEvents?: ReportMore
  logger: Pick<Logger, 'warn'>
  /** Unix time, milliseconds. */
  now: () => number
  runtime: Pick<Runtime, 'setTimeout' | 'ids'>
}

/** Returns the events of a change beside that of the alert itself. */
export type ReportMore = (alert: Alert, what: AlertChange) => EventDraft[]

type AlertChange = 'raised' | 'cleared' | 'acknowledged' | 'reopened'

const CLEARED_KEPT = 200
/** Changes per transaction, so that none holds the sealed lane for long. */
const BATCH = 64
/** An audit in doubt is an alert itself, so alerts are written nevertheless. */
const EVEN_FROZEN = { evenFrozen: true }

/** The alerts in the store, the same for all coordinators, with a copy of them in memory. */
export class Alerts {
  readonly #parts: AlertsParts
  readonly #changes: ChangeFollower
  #alerts: Alert[]

  private constructor(parts: AlertsParts, alerts: Alert[]) {
    this.#parts = parts
    this.#alerts = alerts
    const { store, logger, runtime } = parts
    this.#changes = followChanges({
      subscribe: listener => store.revisions.onChange('alerts', listener),
      read: async () => {
        this.#alerts = await readAlerts(store.ledger.read, CLEARED_KEPT, logger)
      },
      onFailure: error => logger.warn({ err: error }, 'alerts could not be read'),
      runtime,
    })
  }

  static async open(parts: AlertsParts): Promise<Alerts> {
    const { store, logger } = parts
    return new Alerts(parts, await readAlerts(store.ledger.read, CLEARED_KEPT, logger))
  }

  /** Newest first: those that are raised, then the last ones that were cleared. */
  list = (): Alert[] => this.#alerts

  /** Alerts that are raised. */
  raised = (): Alert[] => this.#alerts.filter(isRaised)

  /** Writes the changes of one look at the fleet, with their events. */
  async change(ledger: Ledger, { raise, clear, reword }: AlertChanges): Promise<void> {
    const works = [
      ...splitList(raise, BATCH).map(batch => (trx: SealedTrx) => this.#raise(trx, batch)),
      ...splitList(clear, BATCH).map(batch => (trx: SealedTrx) => this.#clear(trx, batch)),
      ...splitList(reword, BATCH).map(batch => async (trx: SealedTrx) => {
        for (const { alert, message } of batch) await rewordAlert(trx, alert.id, message)
      }),
    ]
    if (works.length === 0) return
    for (const work of works) await this.#write(ledger, work)
    await this.refresh()
  }

  /**
   * Assigns an alert to a person; without a note, removes the assignment. The audit has it in the
   * same transaction. Throws `not_found`, and `conflict` for an alert that was cleared.
   */
  acknowledge = async (
    alertId: string,
    personId: string,
    note: string | undefined,
    by: Actor,
  ): Promise<Alert> => {
    const { store, now } = this.#parts
    const at = now()
    const acknowledged = note === undefined ? undefined : { by: personId, at, note }
    const changed = await store.ledger.sealed.write(async trx => {
      const found = await requireRaised(trx, alertId)
      const alert = { ...found, acknowledged }
      await setAcknowledged(trx, alertId, acknowledged)
      await appendAudit(trx, {
        ...by,
        at,
        subject: alertId,
        outcome: 'done',
        action: acknowledged === undefined ? 'alert.reopen' : 'alert.acknowledge',
        details: { rule: alert.rule, cell_id: alert.cellId ?? null, ...(note && { note }) },
      })
      await this.#report(trx, [alert], acknowledged === undefined ? 'reopened' : 'acknowledged')
      await bumpRevision(trx, 'alerts')
      return alert
    })
    await this.refresh()
    return changed
  }

  /** Reads the alerts again. Never rejects. */
  refresh(): Promise<void> {
    return this.#changes.look()
  }

  close(): Promise<void> {
    return this.#changes.close()
  }

  #write(ledger: Ledger, work: (trx: SealedTrx) => Promise<void>): Promise<void> {
    return ledger.sealed.write(async trx => {
      await work(trx)
      await bumpRevision(trx, 'alerts')
    }, EVEN_FROZEN)
  }

  async #raise(trx: SealedTrx, observations: AlertChanges['raise']): Promise<void> {
    const { now, runtime } = this.#parts
    await this.#report(trx, await raiseAlerts(trx, observations, now(), runtime), 'raised')
  }

  async #clear(trx: SealedTrx, alerts: readonly Alert[]): Promise<void> {
    await this.#report(trx, await clearAlerts(trx, alerts, this.#parts.now()), 'cleared')
    await pruneAlerts(trx, CLEARED_KEPT)
  }

  async #report(trx: SealedTrx, alerts: readonly Alert[], what: AlertChange): Promise<void> {
    const { events, moreEvents, logger } = this.#parts
    afterCommit(trx, () => {
      for (const { cellId, rule, message } of alerts)
        logger.warn({ cell: cellId, rule, message }, `alert ${what}`)
    })
    const drafts = alerts.flatMap((alert): EventDraft[] => [
      { type: `shoal.alert.${what}`, data: alertData(alert), subject: alert.id },
      ...(moreEvents?.(alert, what) ?? []),
    ])
    await events.addWithin(trx, drafts)
  }
}

const requireRaised = async (trx: SealedTrx, id: string): Promise<Alert> => {
  const found = await findAlert(trx, id)
  if (found === undefined) throw createUnknownError('alert', id)
  if (found.clearedAt === undefined) return found
  throw new ShoalError('conflict', `alert ${id} was cleared: there is nothing to look after`)
}
