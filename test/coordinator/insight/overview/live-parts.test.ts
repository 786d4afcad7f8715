import t from 'tap'
import type { Starter } from '../../../../coordinator/access/keys/starter.ts'
import { openWorker } from '../../../../coordinator/kernel/queue/open-worker.ts'
import { openNothing, openScene } from '../../../support/coordinator.ts'
import { startStandIns } from '../../../support/stand-in-services.ts'

const BY: Starter = { tenantId: 'demo', keyId: 'key_1', requestId: 'req_1', actor: 'key:key_1' }
const PLAN = {
  document: { inference: { slots: 8 } },
  stages: [['a']],
  apply_seconds: 60,
  hold_seconds: 60,
  error_rise_percent: 5,
  min_requests: 20,
}

t.test('testcenter and the dashboard follow flows, ramp-ups, services and the queue', async t => {
  const { url, keycloak } = await startStandIns(t)
  const { app, demo, views, store } = await openScene(t, {
    // jobs stay as they were queued
    swaps: new Map([[openWorker, openNothing]]),
    config: {
      services: { keycloak: { url } },
      flows: { look: { steps: [{ id: 'see', skill: 'self-diagnose' }] } },
      synergies: { morning: { flows: ['look'] } },
      rampup: { document: PLAN.document },
    },
  })
  const ask = async (key: string, method: 'GET' | 'POST', path: string, payload?: object) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const response = await app.inject({ method, url: path, headers, ...(payload && { payload }) })
    return response.json()
  }
  /** Both answers, of which the parts must be the same. */
  const look = async (key = demo.operator) => {
    const center = await ask(key, 'POST', '/v1/skills/testcenter', {})
    const dashboard = await ask(key, 'GET', '/portal/api/otrs/dashboard')
    const { queue, flows, synergies, ramp_ups } = center
    t.match(dashboard, { queue, flows, synergies, ramp_ups })
    t.strictSame(dashboard.services, center.service_health.services)
    return dashboard
  }

  t.match(await look(), {
    queue: { data_state: 'empty' },
    flows: { data_state: 'live', flows: 1, runs: {} },
    synergies: { synergies: 1, executed: 0, total: 0, health_percent: null },
    ramp_ups: { data_state: 'empty', configured: true, ramp_up: null },
    services: [{ service_id: 'keycloak', state: 'up', reason: null }],
  })

  await ask(demo.operator, 'POST', '/v1/flows/look/runs', {})
  await ask(demo.operator, 'POST', '/v1/skills/synergy-trigger', {
    synergy_id: 'morning',
    dry_run: false,
  })
  await store.ledger.sealed.write(trx => views.rampUps.startWithin(trx, PLAN, BY))
  keycloak.isReady = false
  t.match(await look(), {
    queue: { data_state: 'live', queued: 3 },
    flows: { runs: { queued: 2 } },
    synergies: { executed: 0, total: 1, health_percent: 0 },
    ramp_ups: { data_state: 'live', ramp_up: { state: 'running', stages: [{ cell_ids: ['a'] }] } },
    services: [{ service_id: 'keycloak', state: 'down', reason: 'health: it answered 503' }],
  })
  t.match(
    await look(demo.stranger),
    {
      queue: { data_state: 'empty' },
      flows: { runs: {} },
      synergies: { total: 0 },
      ramp_ups: { data_state: 'empty', ramp_up: null },
    },
    'another tenant sees none of it',
  )
})
