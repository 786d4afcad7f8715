import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { EventLog } from '../../coordinator/kernel/events/event-log.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { silent } from '../support/cell.ts'
import { createWebhook } from './support/deliveries.ts'
import { MoodyReceiver } from './support/moody-receiver.ts'
import { ReplicaSet } from './support/replica-set.ts'

const TYPE = 'shoal.gate.requested'
const LOOK_MS = 200
/** Longest wait for the last events: retries after a lease of a killed worker. */
const SETTLE_MS = 300_000

/**
 * Twelve events a second go to one webhook, whose receiver is slow, answers 500, closes connections and is away for a
 * while, while coordinators are killed with kill -9 again and again. Every event is accepted at least once, and the
 * first acceptances have the order of the events.
 */
export const main = async (argv: string[]): Promise<boolean> => {
  const options = {
    kills: { type: 'string', default: '20' },
    replicas: { type: 'string', default: '2' },
    rate: { type: 'string', default: '12' },
  } as const
  const values = parseArgs({ args: argv, options }).values
  const [kills, count, rate] = [values.kills, values.replicas, values.rate].map(Number) as [
    number,
    number,
    number,
  ]
  const receiver = await MoodyReceiver.open()
  const set = await ReplicaSet.start({ count, cells: 0, flags: receiver.flags })
  const events = await EventLog.open({
    runtime: systemRuntime,
    store: set.store,
    source: '/shoal/prove',
    kept: 1000,
    logger: silent,
    now: Date.now,
  })
  try {
    await createWebhook(set, receiver, TYPE)
    const over = new AbortController()
    const written = writeEvents(set, events, rate, over.signal)
    for (let kill = 0; kill < kills; kill++) {
      await sleep(500 + Math.random() * 3000)
      await set.killAndRestart(Math.floor(Math.random() * count))
    }
    over.abort()
    const total = await written
    const deadline = performance.now() + SETTLE_MS
    while (receiver.accepted.length < total && performance.now() < deadline) await sleep(LOOK_MS)
    const lost = total - receiver.accepted.length
    const inversions = receiver.accepted.filter((n, at, all) => at > 0 && n < (all[at - 1] ?? 0))
    console.log(
      `${kills} kills of ${count} coordinators: ${total} events, ${lost} lost, ${inversions.length} out of order, ` +
        `${receiver.repeated} accepted again; refused ${JSON.stringify(receiver.refused)}`,
    )
    return total > 0 && lost === 0 && inversions.length === 0
  } finally {
    await events.close()
    await set.stop()
    receiver.close()
  }
}

/** Stores numbered events until the signal aborts, and resolves with how many were committed. */
const writeEvents = async (
  { store }: ReplicaSet,
  events: EventLog,
  rate: number,
  signal: AbortSignal,
): Promise<number> => {
  const startedAt = performance.now()
  let number = 0
  while (!signal.aborted) {
    const data = { tenant_id: 'demo', number }
    try {
      await store.ledger.sealed.write(trx => events.addWithin(trx, [{ type: TYPE, data }]))
    } catch {
      // the same number again: one that is stored all the same arrives twice
      continue
    }
    number++
    await sleep(Math.max(0, startedAt + (number * 1000) / rate - performance.now()))
  }
  return number
}
