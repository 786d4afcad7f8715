import t from 'tap'
import { putDevices } from '../../../../coordinator/devices/inventory/device-rows.ts'
import { RUN_SECONDS } from '../../../../coordinator/devices/inventory/operations/devices/run-device-command.ts'
import type { CommandRecord } from '../../../../coordinator/fleet/control/command.ts'
import { bumpRevision } from '../../../../coordinator/kernel/store/revisions.ts'
import { nextSequence } from '../../../../coordinator/kernel/store/sequences.ts'
import { operations } from '../../../../coordinator/surfaces/catalogue/operations.ts'
import { createDeviceId } from '../../../../devices/device-id.ts'
import { ShoalError } from '../../../../shared/errors.ts'
import { newId } from '../../../../shared/ids.ts'
import { createSigner, generatePrivateKey } from '../../../../shared/signing.ts'
import { signAck } from '../../../../shared/wire/command.ts'
import { deviceScene } from '../../../support/device-scene.ts'
import { cart } from '../../../support/fake-link.ts'
import { waitUntil } from '../../../support/wait-until.ts'
import { addCell } from '../../fleet/control/cell-row.ts'

const TO = { x_m: 3, y_m: 4 }

t.test(
  'devices are listed with state and allowed commands, found by name or beginning',
  async t => {
    const { link, announce, call, demo, deviceReceiver, cellId } = await deviceScene(t)
    const get = (path: string) => call(demo.operator, 'GET', path)
    t.match((await get('/a2a/devices')).json, { data_state: 'empty', devices: [], total: 0 })
    for (const name of ['rover-a', 'rover-b', 'drone']) link.add(createDeviceId(name), { name })
    link.add(createDeviceId('printer'), {
      name: 'printer',
      available: false,
      writable: false,
      reason: 'off',
    })
    await announce()
    const at = Date.now() + 5000
    const readings = { battery_percent: { value: 80, at: at - 120_000 } }
    deviceReceiver.onStates(
      cellId,
      [{ device_id: createDeviceId('drone'), seen_at: at, readings }],
      5000,
    )
    const { json } = await get('/a2a/devices?limit=2')
    t.match(json, { total: 4, devices: [{ name: 'drone' }, { name: 'printer' }] })
    t.match(json.devices[0], {
      readings: { battery_percent: 80, x_m: null },
      stale: ['battery_percent', 'x_m', 'y_m', 'speed_m_s'],
      commands: ['drive-to', 'look', 'stop'],
    })
    t.match(json.devices[1], { available: false, reason: 'off', commands: ['look'] })
    const second = await get(`/a2a/devices?limit=2&after=${json.next}`)
    t.match(second.json, { devices: [{ name: 'rover-a' }, { name: 'rover-b' }], next: null })
    t.equal((await get('/a2a/devices?available=false')).json.total, 1)
    t.equal((await get('/a2a/devices?site=nowhere')).json.total, 0)
    t.match((await get('/v1/devices/dron')).json, {
      device_id: createDeviceId('drone'),
      link: 'sim',
      readings: [{ property: 'battery_percent', value: 80, unit: '%', stale: true }],
      commands: [
        { command: 'drive-to', hazard: 'unsafe', gate: 'gate.device-command-live' },
        { command: 'look', hazard: 'read', gate: null },
        { command: 'stop', urgent: true },
      ],
    })
    const ambiguous = await get('/v1/devices/rover')
    t.equal(ambiguous.status, 409)
    t.match(
      ambiguous.json.error.message,
      /^rover matches 2 devices: rover-a \(dev_\w+ on cell_\w+\), /,
    )
    t.equal((await get('/v1/devices/boat')).status, 404)
    const profiles = await get('/v1/device-profiles')
    t.match(profiles.json.profiles, [{ profile: 'fake-cart', devices: 4 }])
  },
)

t.test('a device of a kind that only a later version knows is listed as another one', async t => {
  const { link, announce, call, demo, devices, store } = await deviceScene(t)
  for (const name of ['rover', 'drone']) link.add(createDeviceId(name), { name })
  await announce()
  const later = { ...devices.find(createDeviceId('rover')), kind: 'boat' as never }
  await store.ledger.sealed.write(async trx => {
    await putDevices(trx, [later], await nextSequence(trx, 'devices'))
    await bumpRevision(trx, 'devices')
  })
  await devices.setLabels(createDeviceId('rover'), {}, { actor: 'ann' })
  await waitUntil('it is read', () => `${devices.get(createDeviceId('rover'))?.kind}` === 'boat')
  const list = await call(demo.operator, 'GET', '/a2a/devices')
  t.match(list.json, { devices: [{ name: 'drone' }, { name: 'rover', kind: 'other' }] })
  const others = await call(demo.operator, 'GET', '/a2a/devices?kind=other')
  t.match(others.json, { total: 1, devices: [{ name: 'rover' }] })
})

t.test('a dry run shows operations and checks, and sends nothing', async t => {
  const { link, announce, call, demo, setBattery } = await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  await announce()
  const input = { device_id: 'rover', command: 'drive-to', params: TO }
  setBattery(createDeviceId('rover'), 12)
  const { status, json } = await call(demo.operator, 'POST', '/v1/skills/device-command', input)
  t.equal(status, 200)
  t.match(json, {
    outcome: null,
    plan: {
      hazard: 'unsafe',
      gate: 'gate.device-command-live',
      passes: false,
      checks: [
        {
          name: 'battery_percent',
          verdict: 'fail',
          observed: 12,
          limit: 20,
          requires: 'at least 20',
        },
      ],
      operations: [{ topic: `${createDeviceId('rover')}/goal`, x: 3, y: 4 }],
      plan_hash: /^[0-9a-f]{64}$/,
    },
  })
  const planned = await call(demo.operator, 'POST', '/v1/devices/rover/plan', {
    command: 'drive-to',
    params: TO,
  })
  t.equal(planned.json.plan_hash, json.plan.plan_hash)
  const live = { ...input, dry_run: false }
  const refused = await call(demo.operator, 'POST', '/v1/skills/device-command', live, 'a')
  t.equal(refused.status, 409)
  t.match(
    refused.json.error.message,
    /battery_percent is 12, but must be at least 20 \(set by the cell\)/,
  )
  const wrong = { ...input, params: { x: 3 } }
  t.match((await call(demo.operator, 'POST', '/v1/skills/device-command', wrong)).json.error, {
    param: 'params',
    message: /; drive-to of rover takes x_m, y_m/,
  })
  const requests = await call(demo.operator, 'GET', '/v1/gates/requests')
  t.strictSame(requests.json.requests, [], 'nobody is asked about a plan that fails')
  t.strictSame(link.executed, [])
})

t.test('an unsafe command is executed once, after another person has approved it', async t => {
  const { link, announce, call, demo, setBattery } = await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  setBattery(createDeviceId('rover'), 80)
  await announce()
  const run = (callKey?: string) =>
    call(demo.operator, 'POST', '/v1/devices/rover/commands', RUN, callKey)
  const RUN = { command: 'drive-to', params: TO }
  t.match((await run()).json.error, { param: 'Idempotency-Key', message: /needs an idempotency/ })
  const pending = await run('one')
  t.equal(pending.status, 202)
  const { json: asked } = await call(demo.approver_a, 'GET', '/v1/gates/requests')
  t.match(asked.requests, [{ requester: 'demo operator', requester_id: 'demo_operator' }])
  t.match(pending.json, { status: 'pending', plan: { checks: [{ verdict: 'pass' }] } })
  const approval = `/v1/gates/requests/${pending.json.request_id}/approve`
  t.equal((await call(demo.operator, 'POST', approval)).status, 403)
  t.equal((await call(demo.approver_a, 'POST', approval)).status, 200)
  setBattery(createDeviceId('rover'), 10)
  t.match((await run('one')).json.error, { message: /battery_percent is 10/ })
  setBattery(createDeviceId('rover'), 70)
  const done = await run('one')
  t.match([done.status, done.json], [200, { state: 'succeeded', verb: 'drive-to' }])
  t.match((await run('one')).json, { id: done.json.id }, 'the same key gets the same answer')
  t.equal((await run('two')).status, 202, 'an approval is used once')
  t.equal(link.executed.length, 1)
  const listed = await call(demo.operator, 'GET', '/v1/devices/rover/commands?limit=200')
  t.match(listed.json.commands, [
    { id: done.json.id, device_id: createDeviceId('rover'), state: 'succeeded' },
  ])
  t.equal(listed.json.commands.length, 1, 'dry runs are not listed')
})

t.test('a beginning of a name neither commands nor stops a device', async t => {
  const { link, announce, call, demo } = await deviceScene(t)
  link.add(createDeviceId('left'), { name: 'arm-left' })
  await announce()
  const post = (path: string, body: object = {}) => call(demo.operator, 'POST', path, body, 'one')
  const drive = { command: 'drive-to', params: TO }
  for (const [path, body] of [
    ['/v1/devices/arm/plan', drive],
    ['/v1/devices/arm/commands', drive],
    ['/v1/devices/arm/commands', { command: 'look' }],
    ['/v1/devices/arm/commands', { command: 'stop' }],
    ['/v1/devices/arm/stop', {}],
    ['/v1/skills/device-command', { device_id: 'arm', ...drive }],
    ['/v1/skills/device-command', { device_id: 'arm', ...drive, dry_run: false }],
  ] as const)
    t.match(await post(path, body), { status: 404, json: NAMES_IT }, JSON.stringify([path, body]))
  const labels = await call(demo.operator, 'PUT', '/v1/devices/arm/labels', { labels: {} })
  t.match(labels, { status: 404, json: NAMES_IT })
  t.strictSame(link.executed, [])
  t.match(await post('/v1/estop', { target: 'arm' }), { status: 404 })
  const halted = { state: 'succeeded' }
  t.match((await post('/v1/devices/ARM-left/stop')).json, halted, 'in any letter case')
  t.match((await post('/v1/devices/Arm-Left/commands', { command: 'stop' })).json, halted)
  t.strictSame(link.executed, Array(2).fill([createDeviceId('left'), ['stop']]))
  const stop = await post('/v1/estop', { device: 'ARM-LEFT', reason: 'smoke' })
  t.match(stop.json, { scope: 'device', target: createDeviceId('left') })
})

const NAMES_IT = {
  error: { message: /^no device arm; write the whole name or an id: arm-left \(dev_\w+ on cell_/ },
}

t.test('a stop goes to every device of a name, and nothing else to any of them', async t => {
  const { link, announce, call, demo, cellId } = await deviceScene(t)
  const ids = ['one', 'two', 'sensor'].map(createDeviceId)
  const [one = '', two = '', sensor = ''] = ids
  const { stop: _, ...verbs } = cart.verbs
  link.add(one, { name: 'rover-1' })
  link.add(two, { name: 'Rover-1' })
  link.add(sensor, { name: 'rover-1', profile: { ...cart, id: 'sensor', verbs } })
  await announce()
  const post = (path: string, body: object = {}) => call(demo.operator, 'POST', path, body, 'one')
  for (const [path, body] of [
    ['/v1/devices/rover-1/commands', { command: 'look' }],
    ['/v1/devices/rover-1/plan', { command: 'drive-to', params: TO }],
    ['/v1/skills/device-command', { device_id: 'rover-1', command: 'drive-to', params: TO }],
  ] as const) {
    const { status, json } = await post(path, body)
    t.equal(status, 409, path)
    for (const id of [one, sensor]) t.match(json.error.message, `(${id} on ${cellId})`)
  }
  t.strictSame(link.executed, [])
  const stopped = await post('/v1/devices/rover-1/stop')
  t.match(stopped, { status: 200, json: { state: 'succeeded' } })
  const rows = stopped.json.devices.map((row: { device_id: string; state: string | null }) => [
    row.device_id,
    row.state,
  ])
  t.strictSame(
    Object.fromEntries(rows),
    { [one]: 'succeeded', [two]: 'succeeded', [sensor]: null },
    'a sensor of the name has nothing to stop',
  )
  t.strictSame(new Set(link.executed.map(([id]) => id)), new Set([one, two]))
  link.execution = async () => {
    throw new ShoalError('conflict', 'the brake is stuck')
  }
  const failed = await post('/v1/skills/device-command', { ...HALT, dry_run: false })
  t.match(failed.json.outcome, { state: 'failed', devices: [{}, {}, {}] })
  const estop = await post('/v1/estop', { target: 'rover-1' })
  t.match(estop.json, { reason: 'no reason given', scope: 'device', also: [{}, {}] })
})

const HALT = { device_id: 'rover-1', command: 'stop' }

t.test('a stop needs no plan, approval or key, and reading needs no approval', async t => {
  const { link, announce, call, demo } = await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  link.add(createDeviceId('locked'), { name: 'locked', writable: false })
  await announce()
  const tried = await call(demo.operator, 'POST', '/v1/devices/locked/stop', {})
  t.match(tried.json, { state: 'succeeded' }, 'a stop is tried although no commands are accepted')
  link.executed.length = 0
  const stopped = await call(demo.operator, 'POST', '/v1/devices/rover/stop', {})
  t.match(stopped.json, { state: 'succeeded', verb: 'stop' })
  t.strictSame(link.executed, [[createDeviceId('rover'), ['stop']]])
  t.equal((await call(demo.operator, 'POST', '/v1/devices/rover/land', {})).status, 422)
  for (const each of operations.filter(({ id }) => /^devices-(stop|hold|land)$/.test(id)))
    t.equal(each.timeoutSeconds, RUN_SECONDS, 'the call outlasts the wait for its cell')
  const hold = { command: 'hold' }
  const held = await call(demo.operator, 'POST', '/v1/devices/rover/commands', hold)
  t.match(held.json.error, { param: 'Idempotency-Key' }, 'no name of a command is exempt')
  const halt = { device_id: 'rover', command: 'stop', dry_run: false }
  const halted = await call(demo.operator, 'POST', '/v1/skills/device-command', halt)
  t.match(halted.json, { plan: null, outcome: { state: 'succeeded' } })
  const look = { command: 'look' }
  const seen = await call(demo.operator, 'POST', '/v1/devices/rover/commands', look, 'look')
  t.match([seen.status, seen.json], [200, { state: 'succeeded' }])
  const unknown = await call(demo.operator, 'POST', '/v1/devices/rover/plan', { command: 'fly' })
  t.match(unknown.json.error, { message: /rover has no command fly; its commands are drive-to/ })
  await announce({ capability: 5 })
  const older = await call(demo.operator, 'POST', '/v1/devices/rover/commands', look, 'older')
  t.match([older.status, older.json.error.message], [409, /capability level 5, .* needs level 6/])
})

t.test('an e-stop is named by the views, the plan and the refusal of a device', async t => {
  const { link, announce, call, demo, setBattery } = await deviceScene(t)
  for (const name of ['rover', 'other']) link.add(createDeviceId(name), { name })
  await announce()
  for (const name of ['rover', 'other']) setBattery(createDeviceId(name), 80)
  const input = { device: 'rover', reason: 'a person in its way' }
  const { status, json: stop } = await call(demo.operator, 'POST', '/v1/estop', input)
  t.match(
    { status, stop },
    { status: 200, stop: { estop_id: String, target: createDeviceId('rover') } },
  )
  const { estop_id } = stop
  const list = await call(demo.operator, 'GET', '/a2a/devices')
  t.match(list.json, {
    devices: [
      { name: 'other', estop_id: null },
      { name: 'rover', estop_id },
    ],
  })
  const shown = await call(demo.operator, 'GET', '/v1/devices/rover')
  t.equal(shown.json.estop_id, estop_id)
  const command = { device_id: 'rover', command: 'drive-to', params: TO }
  const plan = async (device_id: string) =>
    (await call(demo.operator, 'POST', '/v1/skills/device-command', { ...command, device_id })).json
  t.match(await plan('rover'), { plan: { passes: false } })
  const failing = (await plan('rover')).plan.checks.filter((one: { holds: boolean }) => !one.holds)
  t.match(failing, [{ name: 'estop', observed: new RegExp(`${estop_id} .*a person in its way`) }])
  t.match(await plan('other'), { plan: { passes: true } })
  const live = { ...command, dry_run: false }
  const run = await call(demo.operator, 'POST', '/v1/skills/device-command', live, 'held')
  t.match(run, { status: 409, json: { error: { message: /drive-to is refused until it is/ } } })
  const pending = await call(demo.approver_a, 'GET', '/v1/gates/requests')
  t.strictSame(pending.json.requests, [], 'nobody is asked for what cannot run')
  const look = { command: 'look' }
  const seen = await call(demo.operator, 'POST', '/v1/devices/rover/commands', look, 'look')
  t.equal(seen.status, 200, 'it can be read')
})

t.test('a stop goes to every connected cell that announces the device', async t => {
  const { link, announce, call, demo, fleet, sent, devices, cellId, store } = await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  const own = await announce()
  const other = newId('cell')
  const signer = createSigner(generatePrivateKey())
  await addCell(store.ledger, other, signer.publicKey)
  fleet.admit(other, 0)
  fleet.birth(other, 1, own)
  fleet.state(other, 1, 'ready')
  await waitUntil('both cells are known', () =>
    devices.get(createDeviceId('rover'))?.alsoOn.includes(other),
  )
  const answer = call(demo.operator, 'POST', '/v1/devices/rover/stop', {})
  await waitUntil('both cells got the stop', () => sent.length >= 2)
  t.strictSame(new Set(sent), new Set([cellId, other]))
  const { status, json } = await answer
  t.match({ status, json }, { status: 200, json: { state: 'succeeded', cell_id: cellId } })
  t.match(json.cells, [{ cell_id: cellId, state: 'succeeded' }, { cell_id: other }])
})

t.test('the state of a stop is that of the cell of the device, whatever others did', async t => {
  const { link, announce, call, demo, fleet, controlReceiver, views, devices, cellId, store } =
    await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  const own = await announce()
  const cells = Array.from({ length: 40 }, () => ({
    id: newId('cell'),
    signer: createSigner(generatePrivateKey()),
  }))
  for (const { id, signer } of cells) {
    await addCell(store.ledger, id, signer.publicKey)
    fleet.admit(id, 0)
    fleet.birth(id, 1, own)
    fleet.state(id, 1, 'ready')
  }
  await waitUntil(
    'all are known',
    () => devices.get(createDeviceId('rover'))?.alsoOn.length === cells.length,
  )
  const asked = Promise.withResolvers<void>()
  link.execution = async () => {
    await asked.promise
    throw new ShoalError('conflict', 'the brake is stuck')
  }
  const answer = call(demo.operator, 'POST', '/v1/devices/rover/stop', {})
  const listSent = async () => (await views.commands.list({ limit: 100 })).filter(isSentToOther)
  const isSentToOther = ({ cellId: to, state }: CommandRecord) => to !== cellId && state === 'sent'
  const sent = await waitUntil('the others got it', async () => {
    const found = await listSent()
    return found.length >= 31 && found
  })
  for (const { id, signer } of cells)
    for (const one of sent.filter(({ cellId: to }) => to === id))
      controlReceiver.onAck(
        id,
        signAck({ command_id: one.id, cell_id: id, state: 'succeeded', at: Date.now() }, signer),
      )
  asked.resolve()
  const { status, json } = await answer
  t.match({ status, json }, { status: 200, json: { state: 'failed', cell_id: cellId } })
  t.equal(json.cells.length, 32)
  t.match(json.cells[0], { cell_id: cellId, state: 'failed' })
  t.ok(json.cells.slice(1).every(({ state }: { state: string }) => state === 'succeeded'))
})

t.test('a stop passes another cell while that of the device is connected elsewhere', async t => {
  const { link, announce, call, demo, sent, devices, fleet, cellId, store } = await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  await announce()
  const elsewhere = newId('cell')
  const rover = { ...devices.find(createDeviceId('rover')), cellId: elsewhere, alsoOn: [cellId] }
  await store.ledger.sealed.write(async trx => {
    await putDevices(trx, [rover], await nextSequence(trx, 'devices'))
    await bumpRevision(trx, 'devices')
  })
  await devices.setLabels(createDeviceId('rover'), {}, { actor: 'ann' })
  await waitUntil('it is read', () => devices.get(createDeviceId('rover'))?.cellId === elsewhere)
  const live = { command: 'look' }
  const look = await call(demo.operator, 'POST', '/v1/devices/rover/commands', live, 'look')
  t.equal(look.status, 503, 'anything else is for its own cell')
  for (const [path, body] of [
    ['stop', {}],
    ['commands', { command: 'stop' }],
  ] as const) {
    const { status, json } = await call(demo.operator, 'POST', `/v1/devices/rover/${path}`, body)
    t.match({ status, json }, { status: 200, json: { state: 'succeeded', cell_id: cellId } })
    t.match(json.cells, [{ cell_id: cellId, state: 'succeeded' }, { cell_id: elsewhere }])
  }
  fleet.forget(cellId)
  for (const [path, body] of [
    ['stop', {}],
    ['commands', { command: 'stop' }],
  ] as const) {
    const refused = await call(demo.operator, 'POST', `/v1/devices/ROVER/${path}`, body)
    t.match(refused, { status: 503, json: CONNECTED_ELSEWHERE }, 'no key is wanted')
  }
  t.match(await call(demo.operator, 'POST', '/v1/devices/ROVER/commands', live, 'rov'), {
    status: 404,
  })
  t.strictSame(sent, [cellId, cellId])
})

const CONNECTED_ELSEWHERE = { error: { message: /is not connected to this coordinator/ } }

t.test('a command that is urgent on one cell alone is sent to no other', async t => {
  const { link, announce, call, demo, fleet, sent, devices, cellId, store } = await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  const own = await announce()
  const other = newId('cell')
  await addCell(store.ledger, other, createSigner(generatePrivateKey()).publicKey)
  const device_profiles = own.device_profiles?.map(profile => ({
    ...profile,
    verbs: profile.verbs.map(({ urgent: _, ...verb }) => verb),
  }))
  fleet.admit(other, 0)
  fleet.birth(other, 1, { ...own, ...(device_profiles && { device_profiles }) })
  fleet.state(other, 1, 'ready')
  await waitUntil('both cells are known', () =>
    devices.get(createDeviceId('rover'))?.alsoOn.includes(other),
  )
  const { json } = await call(demo.operator, 'POST', '/v1/devices/rover/stop', {})
  t.match(json, { state: 'succeeded', cells: [{ cell_id: cellId }] })
  t.strictSame(sent, [cellId])
})

t.test(
  'a stop that its cell does not answer is unconfirmed at once, raises an alert, and goes on',
  async t => {
    const { link, announce, call, demo, fleet, controlReceiver, devices, sent, store, views } =
      await deviceScene(t, {}, { commands: { urgent_answer_seconds: 0.5 } })
    link.add(createDeviceId('rover'), { name: 'rover' })
    const own = await announce()
    const silentCell = newId('cell')
    const signer = createSigner(generatePrivateKey())
    await addCell(store.ledger, silentCell, signer.publicKey)
    const [facts] = own.devices ?? []
    const quiet = { ...facts, device_id: createDeviceId('quiet'), name: 'quiet' }
    fleet.admit(silentCell, 0)
    fleet.birth(silentCell, 1, { ...own, devices: [quiet] as NonNullable<typeof own.devices> })
    fleet.state(silentCell, 1, 'ready')
    await waitUntil('it is listed', () => devices.get(createDeviceId('quiet')))
    const listAlerts = () =>
      views.monitor.alerts().filter(({ rule }) => rule === 'stop_unconfirmed')
    const show = async (id: string) => (await call(demo.operator, 'GET', `/v1/commands/${id}`)).json
    const acknowledge = (id: string) =>
      controlReceiver.onAck(
        silentCell,
        signAck(
          { command_id: id, cell_id: silentCell, state: 'succeeded', at: Date.now() },
          signer,
        ),
      )

    const { status, json } = await call(demo.operator, 'POST', '/v1/devices/quiet/stop', {})
    t.equal(status, 200)
    t.match(json, { state: 'sent', reason: 'unconfirmed', message: /has not answered yet/ })
    t.match(json.cells, [{ cell_id: silentCell, state: 'sent', reason: 'unconfirmed' }])
    t.strictSame(sent, [silentCell], 'it was sent')
    t.match(await show(json.id), { state: 'sent' }, 'it goes on')
    const [alert] = await waitUntil('the alert is raised', () => {
      const found = listAlerts()
      return found.length > 0 && found
    })
    t.match(alert, { cellId: silentCell, part: createDeviceId('quiet'), level: 'critical' })

    acknowledge(json.id)
    await waitUntil(
      'the outcome is recorded',
      async () => (await show(json.id)).state === 'succeeded',
    )
    t.match(await show(json.id), { reason: null, message: null })
    await waitUntil('the alert is cleared', () => listAlerts()[0]?.clearedAt !== undefined)
  },
)

t.test('stop, hold, land and abort answer while the minute of the key is used up', async t => {
  const countCall = () => {
    throw new ShoalError('rate_limited', '300 calls a minute are allowed')
  }
  const { link, announce, call, demo } = await deviceScene(t, { countCall })
  link.add(createDeviceId('rover'), { name: 'rover' })
  await announce()
  t.equal((await call(demo.operator, 'GET', '/v1/devices/rover')).status, 429)
  const post = (path: string) => call(demo.operator, 'POST', path, {})
  t.match(await post('/v1/devices/rover/stop'), { status: 200, json: { state: 'succeeded' } })
  // the cart has neither, and there is no formation: the answer is about that
  for (const verb of ['hold', 'land'])
    t.equal((await post(`/v1/devices/rover/${verb}`)).status, 422, verb)
  t.equal((await post('/v1/swarm/formations/form_none/abort')).status, 404)
})

t.test('labels of a device stay, and its numbers become a series', async t => {
  const { link, announce, call, demo, deviceReceiver, cellId, views } = await deviceScene(t)
  link.add(createDeviceId('rover'), { name: 'rover' })
  await announce()
  const labels = { owner: 'lab' }
  const put = await call(demo.operator, 'PUT', '/v1/devices/rover/labels', { labels })
  t.match(put.json, { device_id: createDeviceId('rover'), labels })
  t.match((await call(demo.operator, 'GET', '/v1/devices/rover')).json, { labels })
  const readings = { battery_percent: { value: 55, at: Date.now() } }
  deviceReceiver.onStates(cellId, [{ device_id: createDeviceId('rover'), seen_at: 1, readings }], 0)
  const series = views.deviceSeries as { add?(id: string, name: string, value: number): void }
  for (const value of [50, 60]) series.add?.(createDeviceId('rover'), 'battery_percent', value)
  const shown = await call(demo.operator, 'GET', '/v1/devices/rover/series?resolution=1h')
  t.match(shown.json, { unit: '%', points: [{ value: 55, samples: 2 }] })
  const wrong = await call(demo.operator, 'GET', '/v1/devices/rover/series?property=mood')
  t.match(wrong.json.error.message, /no numeric property mood; it has battery_percent, /)
})
