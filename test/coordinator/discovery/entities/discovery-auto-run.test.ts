import t from 'tap'
import { changeDiscovery } from '../../../../coordinator/discovery/entities/operations/discovery/discovery-document.ts'
import { createConfigs } from '../../../../coordinator/fleet/control/configs.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { CAPABILITY, NEEDS } from '../../../../shared/wire/capability.ts'
import type { DesiredBody } from '../../../../shared/wire/desired.ts'
import { silent } from '../../../support/cell.ts'
import { governanceScene } from '../../../support/governance.ts'
import { loneSigner } from '../../../support/lone-signer.ts'
import { temporaryStore } from '../../kernel/store/temporary.ts'

const PATH = '/v1/discovery/auto-run'

t.test('an admin turns scheduled runs on and off; each change is audited', async t => {
  const { call, demo } = await governanceScene(t)
  const set = (body: object) => call(demo.operator, 'PUT', PATH, body)
  const before = await call(demo.operator, 'GET', PATH)
  t.strictSame(before.json.settings, [])
  t.match(before.json.modules, [
    { module: 'mdns-scan', every_s: 300, needs_scope: false },
    { module: 'network-map' },
    { module: 'llm-api-discover', every_s: 3600, needs_scope: true },
  ])
  t.strictSame((await set({ state: 'on' })).json, {
    settings: [{ state: 'on', applies_to: 'fleet', name: null }],
  })
  t.match(await set({ state: 'off', tag: 'lab' }), { status: 200 })
  t.match(await set({ state: 'maybe' }), { status: 422 })
  t.match(await set({ state: 'on', cell_id: 'nobody' }), { status: 404 })
  await call(demo.operator, 'POST', '/v1/discovery/scope', { target: '192.0.2.0/24' })
  t.strictSame((await call(demo.operator, 'GET', PATH)).json.settings, [
    { state: 'on', applies_to: 'fleet', name: null },
    { state: 'off', applies_to: 'tag', name: 'lab' },
  ])
  t.match(await call(demo.free, 'PUT', PATH, { state: 'off' }), { status: 403 })
  const audit = await call(demo.operator, 'GET', '/v1/audit?action=fleet.configure')
  t.match(audit.json.rows, [
    { subject: 'all', outcome: 'done' },
    { subject: 'all', outcome: 'done' },
  ])
})

t.test('a change never overwrites settings that this coordinator cannot read', t => {
  const document = { discovery: { scope: [{ target: '192.0.2.1' }], of_a_newer_version: true } }
  const configs = {
    list: () => [{ scope: 'fleet', name: 'all', version: 1, document }],
    set: () => t.fail('written'),
  }
  const context = { configs, actor: { actor: 'x' } } as unknown as Parameters<
    typeof changeDiscovery
  >[2]
  const change = () => changeDiscovery({}, all => ({ ...all, auto_run: true }), context)
  t.throws(change, { code: 'conflict' })
  t.end()
})

t.test('the setting of a cell wins over its tag and the fleet, from level 7 on', async t => {
  const store = await temporaryStore(t)
  const sent: DesiredBody[] = []
  let level = CAPABILITY
  const configs = await createConfigs({
    runtime: systemRuntime,
    store,
    signer: loneSigner(),
    tagsOf: async () => ['lab'],
    capability: () => level,
    here: () => [],
    publish: async (_cellId, desired) => void sent.push(desired),
    now: () => 1,
    logger: silent,
  })
  t.teardown(() => configs.close())
  const set = (scope: 'fleet' | 'tag' | 'cell', name: string, auto_run: boolean) =>
    configs.set({ scope, name, document: { discovery: { auto_run } } }, { actor: 'x' })
  await set('fleet', 'all', true)
  await configs.answerBirth('cell_a', 'birth_1')
  t.match(sent.at(-1)?.document, { discovery: { auto_run: true } })
  await set('tag', 'lab', false)
  await configs.answerBirth('cell_a', 'birth_2')
  t.match(sent.at(-1)?.document, { discovery: { auto_run: false } })
  await set('cell', 'cell_a', true)
  await configs.answerBirth('cell_a', 'birth_3')
  t.match(sent.at(-1)?.document, { discovery: { auto_run: true } })
  level = NEEDS.discovery - 1
  await configs.answerBirth('cell_a', 'birth_4')
  t.strictSame(sent.at(-1)?.document, {})
})
