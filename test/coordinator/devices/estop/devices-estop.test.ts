import t from 'tap'
import {
  findStopTargets,
  type WantedTarget,
} from '../../../../coordinator/devices/inventory/operations/devices/estop-target.ts'
import type { Cell } from '../../../../coordinator/fleet/cells/cell.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { newId } from '../../../../shared/ids.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'
import { announceDevices, createDeviceFacts } from '../../../support/device-facts.ts'
import { governanceScene } from '../../../support/governance.ts'
import { addCell } from '../../fleet/control/cell-row.ts'

const ALL = { all: true, reason: 'smoke' }

t.test('an operator engages an e-stop while the minute of the key is used up', async t => {
  const countCall = () => {
    throw new ShoalError('rate_limited', '300 calls a minute are allowed')
  }
  const { call, demo } = await governanceScene(t, { pipeline: { countCall } })
  t.equal((await call(demo.operator, 'GET', '/v1/estop')).status, 429)
  const { status, json } = await call(demo.operator, 'POST', '/v1/estop', ALL)
  t.equal(status, 200)
  t.match(json, { scope: 'all', target: null, reason: 'smoke', is_stored: true, released_at: null })
  t.match(await call(demo.pro, 'POST', '/v1/estop', ALL), { status: 403 })
  t.match(await call(undefined, 'POST', '/v1/estop', ALL), { status: 401 })
})

t.test('emergency calls have a limit of their own', async t => {
  const { call, demo } = await governanceScene(t)
  const wrong = { reason: 'smoke' }
  const statuses = new Set<number>()
  for (let calls = 0; calls <= 300; calls++)
    statuses.add((await call(demo.operator, 'POST', '/v1/estop', wrong)).status)
  t.strictSame([...statuses], [422, 429])
  t.equal((await call(demo.approver_a, 'POST', '/v1/estop', ALL)).status, 200)
})

t.test('every e-stop is a new one, also with the same Idempotency-Key', async t => {
  const { call, demo } = await governanceScene(t)
  const key = { 'idempotency-key': 'one' }
  const first = await call(demo.operator, 'POST', '/v1/estop', ALL, key)
  const again = await call(demo.operator, 'POST', '/v1/estop', ALL, key)
  t.not(again.json.estop_id, first.json.estop_id)
  const { json } = await call(demo.operator, 'GET', '/v1/estop')
  t.match(json, {
    in_force: 2,
    estops: [{ estop_id: again.json.estop_id }, {}],
    failed_devices: [],
  })
})

t.test('a target that nothing has is refused', async t => {
  const { call, demo } = await governanceScene(t)
  for (const [target, status] of [
    [{}, 422],
    [{ all: false }, 422],
    [{ all: true, site: 'hall' }, 422],
    [{ all: true, reason: ' ' }, 422],
    [{ site: 'hall' }, 404],
    [{ device: 'nobody' }, 404],
    [{ cell: 'cell_00000000000000000000000000' }, 404],
    [{ target: 'nobody' }, 404],
    [{ target: 'nobody', all: true }, 422],
  ] as const)
    t.match(
      await call(demo.operator, 'POST', '/v1/estop', { reason: 'smoke', ...target }),
      { status },
      JSON.stringify(target),
    )
})

t.test('an unknown target is refused with those that may be meant', async t => {
  const announced = ['rover-a', 'boat'].map(name => createDeviceFacts(name, { site: 'hall' }))
  const known = announced.map(facts => ({ id: facts.device_id, cellId: 'cell_1', facts }))
  const cell = { id: 'cell_1', announce: announceDevices(announced, { name: 'crane' }) }
  const views = {
    devices: { list: () => known, matchEvery: () => [] },
    runtime: systemRuntime,
    cells: { listNamed: async () => [] },
    fleet: { cells: () => [cell], cell: () => undefined },
  } as unknown as Parameters<typeof findStopTargets>[1]
  const stop = (wanted: WantedTarget) => findStopTargets(wanted, views).next()
  const wanted = { code: 'not_found', reason: 'name_unknown', next: 'shoal devices list' }
  await t.rejects(stop({ target: 'rover' }), {
    ...wanted,
    message:
      /^no device, cell or site rover; write the whole name or an id: rover-a \(dev_\w+\); without/,
    param: 'target',
  })
  await t.rejects(stop({ target: 'nobody' }), {
    message: /: rover-a \(dev_\w+\), boat \(dev_\w+\), crane \(cell_1\), hall; without a target/,
  })
  await t.rejects(stop({ site: 'hal' }), { ...wanted, message: /an id: hall$/, param: 'site' })
  await t.rejects(stop({ cell: 'c' }), { message: /an id: crane \(cell_1\)$/, param: 'cell' })
})

t.test('an e-stop finds cells by their names, and stops all with the same one', async t => {
  const { call, demo, fleet, store } = await governanceScene(t)
  const long = 'n'.repeat(253)
  const ids = [newId('cell'), newId('cell'), newId('cell')].sort() as [string, string, string]
  for (const id of ids) await addCell(store.ledger, id, '', id === ids[2] ? long : 'enrolled')
  for (const id of ids.slice(0, 2)) {
    fleet.admit(id, 0)
    fleet.birth(id, 1, announceDevices([], { name: 'twin' }))
  }
  const stop = (cell: string) => call(demo.operator, 'POST', '/v1/estop', { cell, reason: 'smoke' })
  t.match(await stop('twin'), {
    status: 200,
    json: { target: ids[0], target_name: 'twin', also: [{ target: ids[1], target_name: 'twin' }] },
  })
  t.match((await call(demo.operator, 'GET', '/v1/estop')).json, { in_force: 2 })
  t.match(await stop(long), { status: 200, json: { target: ids[2], also: [] } }, 'by its enrolment')
  t.match(await stop('enrolled'), { status: 404 }, 'the announced name counts')
  for (let cells = 0; cells < 63; cells++) {
    const id = newId('cell')
    fleet.admit(id, 0)
    fleet.birth(id, 1, announceDevices([], { name: 'twin' }))
  }
  t.match((await stop('twin')).json, { scope: 'all', also: [] }, 'many are stopped with everything')
})

t.test(
  'a store that is away or slow hinders no e-stop of a cell that announces itself',
  async t => {
    let read = (): Promise<never> => Promise.reject(new ShoalError('store_unavailable', 'away'))
    const cells = { listNamed: () => read() }
    const id = newId('cell')
    const cell = { id, presence: 'ready', announce: announceDevices([], { name: 'crane' }) } as Cell
    const fleet = { cells: () => [cell], cell: (each: string) => (each === id ? cell : undefined) }
    const views = { cells, fleet, runtime: systemRuntime } as unknown as Parameters<
      typeof findStopTargets
    >[1]
    const resolveStopTargets = async (wanted: WantedTarget) => {
      const found = []
      for await (const target of findStopTargets(wanted, views)) found.push(target)
      return found
    }
    const target = [{ scope: 'cell', target: id }]
    t.strictSame(await resolveStopTargets({ cell: 'crane' }), target)
    t.strictSame(await resolveStopTargets({ cell: id }), target)
    const refusal = {
      code: 'not_found',
      message: `no cell lift is connected, and the store does not answer now; write the whole name or an id: crane (${id}); stop a site or all`,
    }
    await t.rejects(resolveStopTargets({ cell: 'lift' }), refusal)
    read = () => new Promise(() => {})
    await t.rejects(resolveStopTargets({ cell: 'lift' }), refusal, 'nor is it waited for')
  },
)

t.test('only a person releases an e-stop, and every step is recorded', async t => {
  const { call, demo, keys, events } = await governanceScene(t)
  const { json: stop } = await call(demo.operator, 'POST', '/v1/estop', ALL)
  const release = { estop_id: stop.estop_id, reason: 'no smoke' }
  const path = '/v1/estop/release'
  const { tenantId = '', personId = '' } = (await keys.authenticate(demo.operator)) ?? {}
  for (const kind of ['ai_agent', 'autonomous', 'ci_pipeline'] as const) {
    const spec = { tenantId, personId, tier: 'pro', roles: ['operator_admin'], kind } as const
    const { secret } = await keys.create({ ...spec, roles: ['operator_admin'] }, { actor: 'test' })
    t.match(await call(secret, 'POST', path, release), { status: 403 }, kind)
    t.match(await call(secret, 'POST', '/v1/estop', ALL), { status: 200 }, 'but it may engage one')
  }
  t.match(await call(demo.operator, 'POST', path, release), {
    status: 200,
    json: { estop_id: stop.estop_id, release_reason: 'no smoke' },
  })
  t.match(await call(demo.operator, 'POST', path, release), { status: 409 })
  t.match((await call(demo.operator, 'GET', '/v1/estop')).json, { in_force: 3 })
  const about = events.filter(({ subject }) => subject === stop.estop_id).map(({ type }) => type)
  t.strictSame(about, ['shoal.device.estopped', 'shoal.device.released'])
  const query = `/v1/audit?subject=${stop.estop_id}`
  const { json: audit } = await call(demo.operator, 'GET', query)
  t.match(JSON.stringify(audit), /estop\.engage.*|estop\.release/)
})
