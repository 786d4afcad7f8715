import hitlGate from '../../../coordinator/access/gates/operations/hitl-gate.ts'
import type { DemoName } from '../../../coordinator/access/keys/bootstrap.ts'
import {
  changeFormation,
  insertFormation,
} from '../../../coordinator/devices/swarm/formation-rows.ts'
import { newId } from '../../../shared/ids.ts'
import { CELL_ID, type openOrganisation } from './organisation.ts'

type Scene = Awaited<ReturnType<typeof openOrganisation>>

/** A word in everything that the people of the organisation wrote; no other tenant may see it. */
export const OWN_WORD = 'nordlicht'

const talk = {
  action: 'create',
  title: `Plans of ${OWN_WORD}`,
  participants: [{ id: 'ada', type: 'person', name: `Ada of ${OWN_WORD}` }],
}

/** Calls of the people of the organisation before anybody asks: `[person, skill, input]`. */
const CALLS = [
  ['operator', 'sads-dock', { agent_id: 'watcher' }],
  ['operator', 'sads-dock', { agent_id: `${OWN_WORD}-agent` }],
  ['operator', 'multi-agent-conversation', talk],
  ['operator', 'hitl-gate', { gate_id: 'gate.production-deploy', evidence: `${OWN_WORD} 2.1` }],
  ['operator', 'synergy-trigger', { synergy_id: 'nightly', dry_run: false }],
  ['operator', 'network-map', {}],
  ['operator', 'mdns-scan', {}],
  ['operator', 'snmp-discover', { subnet: '10.0.0.0/28' }],
] as const

/** Lets the people of the organisation work for a while. */
export const liveOn = async ({
  app,
  demo,
  store,
  views,
  clock,
  readDevices,
}: Scene): Promise<void> => {
  let count = 0
  const call = async (person: DemoName, url: string, payload: object) => {
    // what happens at one time has no order
    clock.now += 1000
    const headers = {
      authorization: `Bearer ${demo[person]}`,
      'idempotency-key': `history-${count++}`,
    }
    const response = await app.inject({ method: 'POST', url, headers, payload })
    if (response.statusCode >= 300) throw new Error(`${url}: ${response.body}`)
    return response.json()
  }
  for (const [person, skill, payload] of CALLS) await call(person, `/v1/skills/${skill}`, payload)
  const asked = await call('operator', '/v1/skills/hitl-gate', hitlGate.examples[0] ?? {})
  await call('approver_a', `/v1/gates/requests/${asked.request_id}/approve`, {})
  readDevices()
  await store.ledger.sealed.write(trx => recordFormation(trx, views.now()))
}

type Trx = Parameters<typeof insertFormation>[0]

/** A formation that was reached an hour ago; simulated devices at rest form none. */
const recordFormation = async (trx: Trx, now: number): Promise<void> => {
  const at = now - 3_600_000
  const id = newId('form')
  const plan = { formation: 'line', position_m: 0.3, required_m: 1, units: [], cells: [] }
  await insertFormation(trx, {
    id,
    ...{ tenantId: 'demo', requestId: 'req', formation: 'line', state: 'running' },
    ...{ plan, createdBy: 'key', parts: [] },
    ...{ createdAt: at, startAt: at, endsAt: at + 5000, changedAt: at },
  } as never)
  const outcome = [{ device_id: 'dev_1', cell_id: CELL_ID, distance_m: 0.12, reached: true }]
  await changeFormation(trx, id, 'running', { state: 'reached', at: at + 5000, outcome })
}
