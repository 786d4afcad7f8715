import t from 'tap'
import { createConfigs } from '../../../../coordinator/fleet/control/configs.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { CAPABILITY, NEEDS } from '../../../../shared/wire/capability.ts'
import type { DesiredBody } from '../../../../shared/wire/desired.ts'
import { silent } from '../../../support/cell.ts'
import { governanceScene } from '../../../support/governance.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const PATH = '/v1/discovery/scope'

t.test('an admin adds and removes what modules may contact; each change is audited', async t => {
  const { call, demo } = await governanceScene(t)
  const add = (body: object) => call(demo.operator, 'POST', PATH, body)
  t.match(await add({ target: '192.0.2.0/24' }), { status: 200 })
  t.match(await add({ target: '10.0.0.0/16', tag: 'lab' }), {
    status: 422,
    json: { error: { param: 'target', message: /more than 1024 addresses/ } },
  })
  t.match(await add({ target: '10.0.0.0/16', tag: 'lab', force: true }), { status: 200 })
  t.match(await add({ target: '8.8.8.0/24' }), {
    status: 422,
    json: {
      error: {
        message: /network of public addresses/,
        reason: 'public_network',
        next: 'shoal discover scope add 8.8.8.0/24 --force',
      },
    },
  })
  t.match(await add({ target: 'printer.lan', tag: 'a', cell_id: 'b' }), { status: 422 })
  t.match(await add({ target: 'printer.lan', cell_id: 'nobody' }), { status: 404 })
  const listed = await call(demo.operator, 'GET', PATH)
  t.strictSame(listed.json, {
    entries: [
      { target: '192.0.2.0/24', is_forced: false, applies_to: 'fleet', name: null },
      { target: '10.0.0.0/16', is_forced: true, applies_to: 'tag', name: 'lab' },
    ],
    proposals: [],
  })
  const remove = () => call(demo.operator, 'DELETE', `${PATH}?target=192.0.2.0/24`)
  t.match(await remove(), { status: 200, json: { entries: [] } })
  t.match(await remove(), { status: 404 })
  t.match(await add({ target: '10.1.1.5/24' }), { json: { entries: [{ target: '10.1.1.0/24' }] } })
  t.match(await add({ target: '10.1.1.0/24' }), { json: { entries: { length: 1 } } })
  t.match(await call(demo.operator, 'DELETE', `${PATH}?target=10.1.1.9/24`), { status: 200 })
  for (const target of ['http://printer.lan', '::/0', '3232235777', '169.254.169.254', '$x'])
    t.match(await add({ target, force: true }), {
      status: 422,
      json: { error: { param: 'target' } },
    })
  const audit = await call(demo.operator, 'GET', '/v1/audit?action=fleet.configure')
  t.equal(audit.json.rows.length, 2 + 3)
})

t.test('a cell gets the scopes of the fleet, its tags and its own, from level 7 on', async t => {
  const store = await temporaryStore(t)
  const sent: DesiredBody[] = []
  let level = CAPABILITY
  const configs = await createConfigs({
    runtime: systemRuntime,
    store,
    signer: loneSigner(),
    tagsOf: async () => ['lab'],
    capability: () => level,
    here: () => ['cell_a'],
    publish: async (_cellId, desired) => void sent.push(desired),
    now: () => 1,
    logger: silent,
  })
  t.teardown(() => configs.close())
  const set = (scope: 'fleet' | 'tag' | 'cell', name: string, target: string) =>
    configs.set({ scope, name, document: { discovery: { scope: [{ target }] } } }, { actor: 'x' })
  await set('fleet', 'all', '192.0.2.0/24')
  await set('tag', 'lab', '198.51.100.0/24')
  await set('cell', 'cell_a', '203.0.113.7')
  await waitUntil('the cell is told', () => sent.length === 3)
  const targets = ['192.0.2.0/24', '198.51.100.0/24', '203.0.113.7'].map(target => ({ target }))
  t.strictSame(sent.at(-1)?.document, { discovery: { scope: targets } })
  level = NEEDS.discovery - 1
  await configs.answerBirth('cell_a', 'birth_1')
  t.strictSame(sent.at(-1)?.document, {})
})
