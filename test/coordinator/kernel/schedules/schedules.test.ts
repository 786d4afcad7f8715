import t, { type Test } from 'tap'
import { createSoleLeader } from '../../../../coordinator/kernel/leader/sole-leader.ts'
import { jitterMs } from '../../../../coordinator/kernel/schedules/recurrence.ts'
import type { NewSchedule } from '../../../../coordinator/kernel/schedules/schedule.ts'
import { Schedules } from '../../../../coordinator/kernel/schedules/schedules.ts'
import { silent } from '../../../support/cell.ts'
import { queueScene, testKind } from '../queue/scene.ts'

const HOUR_MS = 3_600_000
const hourly: NewSchedule = {
  name: 'test.hourly',
  kind: 'test',
  payload: { n: 1 },
  tenantId: 'one',
  expression: '0 * * * *',
  timeZone: 'UTC',
  jitterSeconds: 0,
  graceSeconds: 60,
}

/** Schedules over a real queue, at the full hour of a clock that is set by hand. */
const scene = async (t: Pick<Test, 'teardown'>) => {
  const { store, clock, queue } = await queueScene(t, [testKind()])
  const { ledger } = store
  clock.now = Date.UTC(2026, 10, 22, 10)
  const leader = createSoleLeader()
  const open = () => new Schedules({ ledger, queue, leader, logger: silent, now: () => clock.now })
  const jobs = async () => (await queue.list({ limit: 100 }, { tenantId: 'one' })).toReversed()
  const finish = async () => {
    for (const { id } of await jobs())
      await queue.cancel(id, { tenantId: 'one' }, { actor: 'test' }).catch(() => {})
  }
  return { schedules: open(), open, clock, jobs, finish, leader, queue, ledger }
}

t.test('a schedule adds one job for each planned time', async t => {
  const { schedules, clock, jobs, finish } = await scene(t)
  await schedules.put(hourly)
  await schedules.look()
  t.equal((await jobs()).length, 0, 'nothing is due yet')
  for (const hours of [1, 2]) {
    clock.now = Date.UTC(2026, 10, 22, 10 + hours, 0, 1)
    await Promise.all([schedules.look(), schedules.look()])
    t.equal((await jobs()).length, hours)
    await finish()
  }
  t.match(await schedules.get(hourly.name), { runs: 2, missed: 0 })
})

t.test('planned times of an outage are counted and not repeated', async t => {
  const { schedules, clock, jobs } = await scene(t)
  await schedules.put(hourly)
  clock.now += 5 * HOUR_MS + 10 * 60_000
  await schedules.look()
  t.equal((await jobs()).length, 0)
  const nextAt = Date.UTC(2026, 10, 22, 16)
  t.match(await schedules.get(hourly.name), { runs: 0, missed: 5, nextAt })
})

t.test('a long outage is counted without holding up the process or the store', async t => {
  const { schedules, clock, ledger } = await scene(t)
  await schedules.put({ ...hourly, expression: '* * * * * *' })
  clock.now += HOUR_MS / 3
  let isCounted = false
  const looking = schedules.look().then(() => {
    isCounted = true
  })
  let writes = 0
  while (!isCounted) {
    await ledger.free.write(trx => ledger.nowMs(trx))
    writes++
  }
  await looking
  t.ok(writes > 3, `${writes} writes were made meanwhile`)
  t.match(await schedules.get(hourly.name), { runs: 0, missed: 1200 })
})

t.test('a run is not started while the previous run continues', async t => {
  const { schedules, clock, jobs, finish } = await scene(t)
  await schedules.put(hourly)
  for (const hour of [11, 12]) {
    clock.now = Date.UTC(2026, 10, 22, hour)
    await schedules.look()
  }
  t.equal((await jobs()).length, 1)
  t.match(await schedules.get(hourly.name), { runs: 1, missed: 1 })
  await finish()
  clock.now = Date.UTC(2026, 10, 22, 13)
  await schedules.look()
  t.match(await schedules.get(hourly.name), { runs: 2, missed: 1 })
})

t.test('a restart neither skips nor repeats a run, and keeps the switch', async t => {
  const { schedules, open, clock, jobs } = await scene(t)
  await schedules.put(hourly)
  clock.now = Date.UTC(2026, 10, 22, 11)
  await schedules.look()
  const restarted = open()
  await restarted.put(hourly)
  await restarted.look()
  t.equal((await jobs()).length, 1)
  await restarted.setEnabled(hourly.name, false)
  await open().put({ ...hourly, expression: '30 * * * *' })
  clock.now += HOUR_MS
  await restarted.look()
  t.equal((await jobs()).length, 1, 'a schedule that is off starts nothing')
  const nextAt = Date.UTC(2026, 10, 22, 12, 30)
  t.match(await restarted.setEnabled(hourly.name, true), { isEnabled: true, nextAt, runs: 1 })
  await restarted.remove(hourly.name)
  await t.rejects(restarted.get(hourly.name), { code: 'not_found' })
})

t.test('a schedule keeps to the local time of its zone across daylight saving', async t => {
  const { schedules, clock } = await scene(t)
  const planned: string[] = []
  for (const day of [24, 25]) {
    clock.now = Date.UTC(2026, 9, day - 1, 20)
    const zone = { expression: '0 6 * * *', timeZone: 'Europe/Berlin' }
    const { nextAt = 0 } = await schedules.put({ ...hourly, ...zone, jitterSeconds: day })
    planned.push(new Date(nextAt).toISOString())
  }
  t.strictSame(planned, ['2026-10-24T04:00:00.000Z', '2026-10-25T05:00:00.000Z'])
})

t.test('jitter delays every run of a schedule by the same bounded time', async t => {
  const { schedules, clock, jobs } = await scene(t)
  const delayMs = jitterMs(hourly.name, 600)
  t.ok(delayMs > 0 && delayMs < 600_000)
  await schedules.put({ ...hourly, jitterSeconds: 600 })
  for (const [earlyMs, started] of [
    [1, 0],
    [0, 1],
  ] as const) {
    clock.now = Date.UTC(2026, 10, 22, 11) + delayMs - earlyMs
    await schedules.look()
    t.equal((await jobs()).length, started)
  }
})

t.test('a process that is not the leader starts nothing', async t => {
  const { schedules, clock, jobs, leader } = await scene(t)
  await schedules.put(hourly)
  clock.now += HOUR_MS
  await leader.close()
  await schedules.look()
  t.equal((await jobs()).length, 0)
})

t.test('an invalid schedule is refused with its parameter', async t => {
  const { schedules } = await scene(t)
  for (const [wrong, param] of [
    [{ expression: '99 * * * *' }, 'expression'],
    [{ expression: '0 0 31 2 *' }, 'expression'],
    [{ timeZone: 'Nowhere/City' }, 'time_zone'],
  ] as const)
    await t.rejects(schedules.put({ ...hourly, ...wrong }), { code: 'invalid_request', param })
  t.strictSame(await schedules.list(), [])
})
