import t from 'tap'
import { CallHours } from '../../../../coordinator/calls/invoke/call-hours.ts'
import { openScene } from '../../../support/coordinator.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const NOON = Date.UTC(2026, 10, 20, 12)
const HOUR_MS = 3_600_000
const call = { operationId: 'cells-list', tenantId: 'one', durationMs: 4.4, failed: false }

t.test('calls are summed by hour, tenant and operation, also after a restart', async t => {
  const { records } = await temporaryStore(t)
  let now = NOON
  const open = () => new CallHours(records, () => now)
  const first = open()
  first.count(call)
  first.count({ ...call, failed: true })
  first.count({ ...call, tenantId: 'two', operationId: 'queue-board' })
  await first.flush()
  now += HOUR_MS
  const second = open()
  second.count(call)
  t.strictSame(await second.read({ from: NOON, to: now + 1, tenantId: 'one' }), [
    { operationId: 'cells-list', calls: 3, errors: 1, durationMs: 13 },
  ])
  t.match(await second.read({ from: NOON, to: NOON + HOUR_MS }), [
    { operationId: 'cells-list', calls: 2 },
    { operationId: 'queue-board', calls: 1 },
  ])
})

t.test('calls through any surface are kept', async t => {
  const { app, views, demo } = await openScene(t, { now: () => NOON })
  const headers = { authorization: `Bearer ${demo.approver_a}`, 'content-type': 'application/json' }
  await app.inject({ method: 'POST', url: '/v1/skills/skill-stats', headers, payload: {} })
  t.match(await views.callHours.read({ from: NOON, to: NOON + 1 }), [
    { operationId: 'skill-stats', calls: 1, errors: 0 },
  ])
})

t.test('skill-stats shows the stored calls of the tenant', async t => {
  const { app, demo } = await openScene(t, { now: () => NOON })
  const ask = async (key: string) =>
    (
      await app.inject({
        method: 'POST',
        url: '/v1/skills/skill-stats',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        payload: {},
      })
    ).json()
  t.match((await ask(demo.operator)).stored, { calls: 0, errors: 0, skills: [] })
  t.match((await ask(demo.operator)).stored, {
    from: new Date(NOON - 24 * HOUR_MS).toISOString(),
    calls: 1,
    skills: [{ id: 'skill-stats', calls: 1, errors: 0, mean_ms: Number }],
  })
  t.match((await ask(demo.stranger)).stored, { calls: 0, skills: [] }, 'another tenant')
})
