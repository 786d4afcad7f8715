import type { Test } from 'tap'
import * as z from 'zod'
import { createTenant } from '../../../../coordinator/access/people/tenants.ts'
import { defineJobKind, type JobKind } from '../../../../coordinator/kernel/queue/job-kind.ts'
import { createQueue } from '../../../../coordinator/kernel/queue/queue.ts'
import { Worker, type WorkerParts } from '../../../../coordinator/kernel/queue/worker.ts'
import type { Store } from '../../../../coordinator/kernel/store/store.ts'
import { HALF_JITTER } from '../../../../shared/back-off.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { silent } from '../../../support/cell.ts'
import { BY, temporaryStore } from '../store/temporary.ts'

export const testKind = (parts: Partial<JobKind> = {}): JobKind =>
  defineJobKind({
    kind: 'test',
    payload: z.strictObject({ n: z.int(), account: z.record(z.string(), z.json()).optional() }),
    account: ({ account = {} }) => ({ project: 'tests', ...account }),
    maxAttempts: 3,
    backOff: { firstMs: 10_000, factor: 4, maxMs: 100_000, jitter: HALF_JITTER },
    concurrency: 4,
    timeoutSeconds: 60,
    leaseSeconds: 30,
    keptDays: 1,
    run: async () => {},
    ...parts,
  })

/** A queue over a real store, with a clock that is set by hand. */
export const queueScene = async (t: Pick<Test, 'teardown'>, kinds: JobKind[]) => {
  const clock = { now: 1_800_000_000_000 }
  const now = () => clock.now
  const store: Store = await temporaryStore(t, undefined, { now })
  for (const id of ['one', 'two']) await createTenant(store.ledger, { id, name: id }, BY)
  const byName = new Map(kinds.map(kind => [kind.kind, kind]))
  const queue = createQueue({
    ledger: store.ledger,
    kinds: () => byName,
    now,
    ids: systemRuntime.ids,
  })
  const work = (parts: Partial<WorkerParts> = {}) => {
    const worker = Worker.start({
      ledger: store.ledger,
      kinds: byName,
      id: 'w1',
      logger: silent,
      now,
      runtime: { ...systemRuntime, random: () => 0 },
      ...parts,
    })
    const looking = setInterval(() => worker.wake(), 5)
    t.teardown(() => {
      clearInterval(looking)
      return worker.close()
    })
    return worker
  }
  /** Waits until the jobs of a tenant are as wanted. */
  const waitForStates = async (isRight: (states: string[]) => boolean, tenantId = 'one') => {
    for (;;) {
      await new Promise(resolve => setTimeout(resolve, 5))
      const jobs = (await queue.list({ limit: 1000 }, { tenantId })).toReversed()
      if (isRight(jobs.map(job => job.state))) return jobs
    }
  }
  return { store, clock, queue, work, waitForStates }
}
