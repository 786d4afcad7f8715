import t from 'tap'
import { flows as flowRegister } from '../../../../coordinator/insight/registers/definitions/flows.ts'
import { openWorker } from '../../../../coordinator/kernel/queue/open-worker.ts'
import { openNothing, openScene } from '../../../support/coordinator.ts'
import { BY } from '../../kernel/store/temporary.ts'

const step = (skill: string) => ({ steps: [{ id: 'only', skill }] })

t.test('get_metamorphosis_status follows flows, their runs and their records', async t => {
  const swaps = new Map([[openWorker, openNothing]])
  const flows = { kept: step('gap-report'), changed: step('gap-report'), left: step('gap-report') }
  const before = await openScene(t, { swaps, config: { flows } })
  const { store, demo } = before
  const starter = { tenantId: 'demo', keyId: 'key_1', requestId: 'req_1', actor: 'key:key_1' }
  for (const id of Object.keys(flows))
    await before.views.flows.start(before.views.flows.flow(id), starter)
  await before.close()

  const { left: _, ...others } = flows
  const { app, views } = await openScene(t, {
    swaps,
    from: { store, demo },
    config: { flows: { ...others, changed: step('quality-report') } },
  })
  const look = async (key = demo.operator) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    const url = '/v1/skills/get_metamorphosis_status'
    const { items } = (await app.inject({ method: 'POST', url, headers, payload: {} })).json()
    return items
      .filter(({ kind }: { kind: string }) => kind === 'flow')
      .map((item: { id: string; class: string }) => `${item.id} ${item.class}`)
  }
  t.strictSame(await look(), ['changed LIVE_SHIM', 'kept LEGIT', 'left PEARL'])
  t.strictSame(await look(demo.stranger), ['changed LEGIT', 'kept LEGIT'], 'runs of its own only')

  const record = { id: 'planned', name: 'Planned', state: 'active', skills: ['gap-report'] }
  await views.registers.put(flowRegister, record, { tenantId: 'demo', by: BY })
  t.ok((await look()).includes('planned CRUFT'), 'declared in the register, and not configured')
})
