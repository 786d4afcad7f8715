import type { Base } from '../base/base.ts'
import type { Events } from '../events/bus.ts'
import type { OpenLeader } from '../leader/open.ts'
import type { Replicas } from '../replicas/replicas.ts'
import type { Ledger, Store } from '../store/store.ts'
import { countJobs } from './job-query.ts'
import { forgetJobs } from './job-store.ts'
import type { OpenQueue } from './open.ts'
import { Worker, type WorkerParts } from './worker.ts'

type Counted = Awaited<ReturnType<typeof countJobs>>

interface WorkerDomainParts
  extends Pick<Base, 'stack' | 'schedules' | 'logger' | 'now' | 'runtime'>,
    Pick<OpenLeader, 'leaderWork'> {
  store: Pick<Store, 'ledger'>
  replicas: Pick<Replicas, 'id'>
  work: Pick<OpenQueue, 'kinds' | 'onWork'>
  events: Pick<Events, 'addWithin'>
  metrics: {
    queue: {
      countAttempt: NonNullable<WorkerParts['onOutcome']>
      setJobCounts(jobs: Counted): void
    }
  }
}

/** Interval of looks for jobs that became due or were added elsewhere. */
const LOOK_SECONDS = 1
const COUNT_SECONDS = 15
const FORGET_SECONDS = 600

/** Starts the worker of this process; every kind must have been added before. */
export const openWorker = async (parts: WorkerDomainParts): Promise<object> => {
  const { store, replicas, work, events, metrics, stack } = parts
  const { schedules, leaderWork, logger, now, runtime } = parts
  const { ledger } = store
  const worker = Worker.start({
    ledger,
    kinds: work.kinds,
    logger,
    now,
    runtime,
    id: replicas.id,
    onOutcome: metrics.queue.countAttempt,
    onGiveUp: (trx, { id, kind, tenantId }, reason) => {
      const data = { kind, reason, tenant_id: tenantId ?? null }
      return events.addWithin(trx, [{ type: 'shoal.job.dead', data, subject: id }])
    },
  })
  schedules.every('queue.look', LOOK_SECONDS, () => worker.wake())
  stack.defer(() => worker.close())
  stack.defer(work.onWork(() => worker.wake()))

  const count = async (): Promise<void> => metrics.queue.setJobCounts(await countJobs(ledger.read))
  await count()
  schedules.every('queue.count', COUNT_SECONDS, count)

  const forget = (ledger: Ledger): Promise<void> => forgetJobs(ledger, work.kinds, now())
  // a full disk or an audit in doubt must not keep the coordinator from starting
  await leaderWork
    .runOnce(forget)
    .catch(error => logger.warn({ err: error }, 'ended jobs were not deleted'))
  leaderWork.every('queue.forget', FORGET_SECONDS, forget)
  return {}
}
