import t from 'tap'
import { type Cell, newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { flows as flowRegister } from '../../../../coordinator/insight/registers/definitions/flows.ts'
import { services as serviceRegister } from '../../../../coordinator/insight/registers/definitions/services.ts'
import { openWorker } from '../../../../coordinator/kernel/queue/open-worker.ts'
import { openNothing, openScene } from '../../../support/coordinator.ts'
import { BY } from '../../kernel/store/temporary.ts'

const url = 'http://gpu-7:8080'

t.test('the graph of a tenant has the services and flows that it may see', async t => {
  const announce = {
    name: 'GPU-7',
    host: { hostname: 'localhost' },
    gpus: [],
    engines: [],
    tags: [],
  }
  const cell = { ...newCell('cell_a', 1), announce } as unknown as Cell
  const { views } = await openScene(t, {
    swaps: new Map([[openWorker, openNothing]]),
    views: { fleet: { cells: () => [cell] } },
    config: {
      services: { keycloak: { url, repair_url: `${url}/repair` } },
      chat_servers: { demo: { url: 'https://chat.demo.example' } },
      flows: {
        nightly: {
          steps: [
            { id: 'look', skill: 'self-diagnose', compensate: { skill: 'gap-report' } },
            { id: 'people', gate: 'gate.minor-release-approve' },
          ],
        },
      },
      synergies: { morning: { flows: ['nightly'] } },
    },
  })
  const { knowledge, flows, registers } = views
  const by = { tenantId: 'demo', by: BY }
  const record = { id: 'crm', name: 'CRM', kind: 'http', url, criticality: 'low' }
  await registers.put(serviceRegister, { ...record, depends_on: ['keycloak'] }, by)
  const plan = { id: 'plan', name: 'Plan', state: 'draft', skills: ['vram-guard'] }
  await registers.put(flowRegister, plan, by)
  const starter = { tenantId: 'demo', keyId: 'k', requestId: 'r', actor: 'key:k' }
  const run = await flows.start(flows.synergy('morning'), starter)

  const { graph } = await knowledge.graphOf('demo')
  const edgesOf = (id: string) =>
    graph
      .outEdges(id)
      .map(key => key.slice(id.length + 1))
      .toSorted()
  t.strictSame(edgesOf('flow:nightly'), [
    'passes gate:gate.minor-release-approve',
    'uses skill:gap-report',
    'uses skill:self-diagnose',
  ])
  t.strictSame(edgesOf('synergy:morning'), ['uses flow:nightly'])
  t.strictSame(edgesOf(`flow-run:${run.id}`), ['runs synergy:morning'])
  t.strictSame(edgesOf('flow:plan'), ['uses skill:vram-guard'])
  t.strictSame(edgesOf('flow:service-repair'), [
    'passes gate:gate.repair-run',
    'uses skill:repair-trigger',
  ])
  t.strictSame(edgesOf('service:keycloak'), [
    'repaired_by skill:repair-trigger',
    'runs_on cell:cell_a',
  ])
  t.strictSame(edgesOf('service:crm'), [
    'dedicated_to tenant:demo',
    'depends_on service:keycloak',
    'runs_on cell:cell_a',
  ])
  t.strictSame(edgesOf('service:chat-server/demo'), ['dedicated_to tenant:demo'])

  const other = await knowledge.graphOf('other')
  const seen = other.graph.nodes().filter(id => /^(service|flow|synergy|flow-run):/.test(id))
  t.strictSame(
    seen.toSorted(),
    ['flow:nightly', 'flow:service-repair', 'service:keycloak', 'synergy:morning'],
    'another tenant sees the configuration alone',
  )
})
