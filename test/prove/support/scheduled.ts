import { countPlanned } from '../../../coordinator/kernel/schedules/recurrence.ts'
import type { Schedule } from '../../../coordinator/kernel/schedules/schedule.ts'
import {
  changeSchedule,
  findSchedule,
  putSchedule,
} from '../../../coordinator/kernel/schedules/schedule-store.ts'
import { waitUntil } from '../../support/wait-until.ts'
import type { AcknowledgedWork, WorkVerdict } from './acknowledged.ts'
import { createWebhook, type Receiver } from './deliveries.ts'
import type { ReplicaSet } from './replica-set.ts'

/** Schedules that run every second, side by side, so that many runs fit between two kills. */
const NAMES = ['prove.first', 'prove.second', 'prove.third', 'prove.fourth']
const EVERY_SECOND = { expression: '* * * * * *', timeZone: 'UTC', jitterSeconds: 0 }
const GRACE_SECONDS = 60
const LOOK_MS = 200
/** Type of event whose webhook gets nothing but what the schedules send. */
const TYPE = 'shoal.gate.expired'

/**
 * Jobs from schedules: each planned time is run or counted as missed, exactly once; each run has one
 * job, and what a job has sent has arrived.
 */
export const runSchedules = async (
  set: ReplicaSet,
  receiver: Receiver,
): Promise<AcknowledgedWork> => {
  const { ledger } = set.store
  const webhook = await createWebhook(set, receiver, TYPE)
  const startedAt = await ledger.free.write(ledger.nowMs)
  await ledger.sealed.write(async trx => {
    for (const name of NAMES) {
      const payload = { webhook_id: webhook, event: createEvent(name, startedAt) }
      const plan = { name, kind: 'webhook-delivery', payload, graceSeconds: GRACE_SECONDS }
      await putSchedule(trx, { ...plan, ...EVERY_SECOND }, startedAt)
    }
  })
  return {
    name: 'schedules',
    // the leader runs them
    run: async () => {},
    judge: async () => {
      const verdicts: WorkVerdict[] = []
      for (const name of NAMES) {
        await waitUntil(`a run of ${name}`, async () => (await read(set, name)).runs > 0, LOOK_MS)
        await ledger.sealed.write(trx => changeSchedule(trx, name, { enabled: false }))
        verdicts.push(await judgeSchedule(set, receiver, await read(set, name), startedAt))
      }
      const sum = (field: keyof WorkVerdict): number =>
        verdicts.reduce((total, verdict) => total + verdict[field], 0)
      return { acknowledged: sum('acknowledged'), lost: sum('lost'), twice: sum('twice') }
    },
  }
}

const createEvent = (name: string, at: number) => ({
  specversion: '1.0',
  id: name,
  source: 'prove',
  type: TYPE,
  time: new Date(at).toISOString(),
  data: {},
})

const read = async (set: ReplicaSet, name: string): Promise<Schedule> =>
  (await findSchedule(set.store.ledger.read, name)) as Schedule

const judgeSchedule = async (
  set: ReplicaSet,
  receiver: Receiver,
  { name, runs, missed, nextAt = 0 }: Schedule,
  startedAt: number,
): Promise<WorkVerdict> => {
  const readJobs = () =>
    set.store.ledger.read
      .selectFrom('jobs')
      .select(['state', 'once_key'])
      .where('once_key', 'like', `schedule:${name}:%`)
      .execute()
  await waitUntil(
    `the jobs of ${name} have ended`,
    async () => (await readJobs()).every(({ state }) => state !== 'queued' && state !== 'running'),
    LOOK_MS,
  )
  const jobs = await readJobs()
  const done = jobs.filter(({ state }) => state === 'done').length
  const planned = await countPlanned(EVERY_SECOND, startedAt, nextAt - 1)
  const unaccounted = planned - runs - missed
  const arrived = receiver.events.get(name)?.deliveries ?? 0
  console.log(`${name}: ${planned} times, ${runs} runs, ${missed} missed, ${arrived} deliveries`)
  return {
    acknowledged: runs,
    lost: Math.max(0, runs - done) + Math.max(0, done - arrived) + Math.max(0, unaccounted),
    twice: Math.max(0, jobs.length - runs) + Math.max(0, -unaccounted),
  }
}
