import t from 'tap'
import { cliOf, pathFields } from '../../../coordinator/kernel/declaration/declaration.ts'
import { operations } from '../../../coordinator/surfaces/catalogue/operations.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { newId } from '../../../shared/ids.ts'
import { askUntil, message } from '../../support/a2a.ts'
import { contractSkills } from '../../support/contract-skills.ts'
import { announceDevices } from '../../support/device-facts.ts'
import { governanceScene } from '../../support/governance.ts'
import { surfacesOf } from '../../support/surfaces.ts'
import { addCell } from '../fleet/control/cell-row.ts'

/* The contract of the pipeline: the same calls over every surface have the same outcomes. Where a
 * surface cannot express a case, its row says so. */

const { skills, done, release, waiting } = contractSkills()
let allowance = Number.POSITIVE_INFINITY
let counted = 0
const late: object[] = []
const scene = await governanceScene(t, {
  moreSkills: skills,
  pipeline: {
    countCall: () => {
      counted++
      if (allowance-- <= 0) throw new ShoalError('rate_limited', 'no more calls')
    },
    logger: { warn: (facts: object) => void late.push(facts) },
  },
})
const { app, call, demo } = scene
await app.listen({ host: '127.0.0.1', port: 0 })
const surfaces = surfacesOf(scene, demo.operator)
t.teardown(release)

type Expected = Record<string, string>
const everywhere = (outcome: string): Expected =>
  Object.fromEntries(surfaces.map(({ name }) => [name, outcome]))

/** Outcomes of one call on every surface, one after the other. */
const onEach = async (
  ask: (surface: (typeof surfaces)[number]) => Promise<string>,
): Promise<Expected> => {
  const found: Expected = {}
  for (const surface of surfaces) found[surface.name] = await ask(surface)
  return found
}

for (const [title, skill, input, expected] of [
  ['a call that reads is done', 'fix-read', { word: 'a' }, everywhere('done a')],
  ['a call with progress is done', 'fix-stream', { word: 'a' }, everywhere('done a')],
  [
    'a call that goes on by itself answers its task; A2A waits for the task that it makes',
    'fix-task',
    { word: 'a' },
    { ...everywhere('task'), A2A: 'done a' },
  ],
  ['a plan without a gate is carried out', 'fix-plan', { word: 'a' }, everywhere('done a')],
  [
    'a dry run shows the plan and does nothing',
    'fix-plan',
    { word: 'dry', dry_run: true },
    everywhere('done would move dry'),
  ],
  [
    'a dry run asks at no gate',
    'fix-plan',
    { word: 'heavy dry', dry_run: true },
    everywhere('done would move heavy dry'),
  ],
  [
    'a refusal of the operation is told',
    'fix-refuse',
    { word: 'a' },
    everywhere('refused conflict'),
  ],
  ['wrong input is refused', 'fix-read', { word: 7 }, everywhere('refused invalid_request')],
  [
    'a call ends with its time limit, also when the operation ignores its signal',
    'fix-slow',
    { word: 'slow' },
    everywhere('refused request_timeout'),
  ],
] as const)
  t.test(title, async t => {
    t.strictSame(await onEach(({ call }) => call(skill, input, { key: demo.operator })), expected)
  })

t.test('a cell is named by its id or its whole name', async t => {
  const { sealed } = scene.store.ledger
  const ids = [newId('cell'), newId('cell'), newId('cell'), newId('cell')] as const
  const [rover, twin, other, gone] = ids
  const names = ['rover', 'twin', 'twin', 'gone']
  for (const [i, id] of ids.entries()) await addCell(scene.store.ledger, id, '', names[i])
  const query = (trx: Parameters<Parameters<typeof sealed.write>[0]>[0]) =>
    trx.updateTable('cells').set({ revoked_at: 1 }).where('id', '=', gone).execute()
  await sealed.write(query)
  const ask = (input: object) =>
    onEach(({ call }) => call('fix-cells', input, { key: demo.operator }))
  const named = await ask({ word: 'rover', on: ['rover', twin] })
  t.strictSame(named, everywhere(`done ${rover},${rover},${twin}`))
  t.strictSame(await ask({ word: 'twin' }), everywhere('refused conflict'))
  for (const word of [rover.slice(0, -1), 'rov', 'gone', 'nobody'])
    t.strictSame(await ask({ word }), everywhere(`done ${word}`), `${word} is left as it is`)
  for (const name of ['cell', 'cell_', '01', rover.slice(5, -1)]) {
    const id = newId('cell')
    await addCell(scene.store.ledger, id, '', name)
    const meant = await ask({ word: name, on: [name] })
    t.strictSame(
      meant,
      everywhere(`done ${id},${id}`),
      `${name} is a name, not the beginning of ids`,
    )
  }
  const [first, second] = [twin, other].sort()
  const { json } = await call(demo.operator, 'POST', '/v1/cells/twin/drain', {})
  t.match(json.error, {
    param: 'cell_id',
    message: `twin matches 2 cells: twin (${first}), twin (${second}); use an id`,
  })
  const model = { model: 'own', path: '/models/own.gguf', on: ['rover'] }
  t.match(await call(demo.operator, 'POST', '/v1/catalogue', model), { json: { on: [rover] } })
  t.match(await call(demo.operator, 'GET', '/v1/cells/rover'), { json: { id: rover } })
  const listOf = (cell: string) => call(demo.operator, 'GET', `/v1/commands?cell_id=${cell}`)
  for (const cell of ['rover', gone])
    t.match(await listOf(cell), { status: 200, json: { commands: [] } }, cell)
  for (const cell of ['rovr', newId('cell')])
    t.match(await listOf(cell), { status: 404, json: { error: { param: 'cell_id' } } }, cell)
})

t.test('an unknown device has the same error on every surface, with the next step', async t => {
  const input = { device_id: 'nobody', command: 'stop', dry_run: true }
  const rest = await call(demo.operator, 'POST', '/v1/skills/device-command', input)
  const send = async (url: string, method: string, params: object) => {
    const { body } = await app.inject({
      method: 'POST',
      url,
      headers: {
        authorization: `Bearer ${demo.operator}`,
        accept: 'application/json, text/event-stream',
      },
      payload: { jsonrpc: '2.0', id: 1, method, params },
    })
    return JSON.parse(
      body
        .split('\n')
        .find(line => line.startsWith('data: '))
        ?.slice(6) ?? body,
    )
  }
  const mcp = await send('/mcp/', 'tools/call', { name: 'device-command', arguments: input })
  const sent = message({ data: { skill: 'device-command', input } })
  const a2a = await send('/a2a', 'SendMessage', { message: sent })
  const wanted = {
    code: 'not_found',
    message: 'no device nobody',
    param: 'device_id',
    reason: 'name_unknown',
    next: 'shoal devices list',
  }
  t.match(rest.json.error, wanted)
  t.match(JSON.parse(mcp.result.content[0].text).error, wanted)
  t.match(a2a.result.task.status.message.parts.at(-1).data.error, wanted)
})

t.test('every unknown id in a path has its field and a command that lists what exists', async t => {
  const lines = operations.map(cliOf).map(({ group, verb }) => `shoal ${group} ${verb}`)
  const wrong: unknown[] = []
  const fields = new Set<string>()
  for (const operation of operations.filter(({ path }) => path.includes('{'))) {
    const { method, path, id } = operation
    const url = path.replaceAll(/\{\w+\}/g, '7')
    const body = operation.examples?.[0]
    const { status, json } = await call(demo.operator, method, url, body)
    const { reason, param, next = '' } = json.error ?? {}
    if (status !== 404 || (body !== undefined && param in body)) continue
    const isListed = lines.some(line => next === line || next.startsWith(`${line} `))
    const isNamed = pathFields(path).includes(param) && /^(name|model)_unknown$/.test(reason)
    if (isListed && isNamed) fields.add(param)
    else wrong.push({ id, ...json.error })
  }
  t.strictSame(wrong, [])
  t.ok(fields.size > 10, [...fields].join())
})

t.test('a task keeps the id of the cell that its call has named', async t => {
  const { ledger } = scene.store
  const [one, other] = [newId('cell'), newId('cell')]
  await addCell(ledger, one, '', 'loader')
  const ask = () => onEach(({ call }) => call('fix-cell-task', { on: ['loader'] }, TOLD))
  const TOLD = { key: demo.operator }
  t.strictSame(await ask(), { ...everywhere('task'), A2A: `done ${one}` })
  const kept = () =>
    ledger.read
      .selectFrom('task_runs')
      .select('input_json')
      .where('operation_id', '=', 'fix-cell-task')
      .execute()
  const runs = surfaces.map(() => ({ input_json: JSON.stringify({ on: [one] }) }))
  t.strictSame(await kept(), runs)
  await addCell(ledger, other, '', 'loader')
  t.strictSame(await ask(), everywhere('refused conflict'), 'at once, without a task')
  t.strictSame(await kept(), runs)
})

t.test('the name that a cell announces counts, not the one of its enrolment', async t => {
  const { fleet, store } = scene
  const ids = [newId('cell'), newId('cell'), newId('cell')].sort() as [string, string, string]
  const [renamed, quiet, double] = ids
  const announced = { [renamed]: 'crane', [double]: 'winch' }
  for (const [i, id] of ids.entries()) {
    await addCell(store.ledger, id, '', ['lift', 'winch', 'hoist'][i])
    fleet.admit(id, 0)
    const name = announced[id]
    if (name !== undefined) fleet.birth(id, 1, announceDevices([], { name }))
  }
  const ask = (word: string) =>
    onEach(({ call }) => call('fix-cells', { word }, { key: demo.operator }))
  t.strictSame(await ask('crane'), everywhere(`done ${renamed}`))
  t.strictSame(await ask('lift'), everywhere('done lift'), 'it is left as it is')
  t.strictSame(await ask('winch'), everywhere('refused conflict'), 'of both together')
  const { json } = await call(demo.operator, 'GET', '/v1/cells/winch')
  t.match(json.error, {
    message: `winch matches 2 cells: winch (${quiet}), winch (${double}); use an id`,
  })
})

t.test('a key without the role is refused', async t => {
  const ask = onEach(({ call }) => call('fix-operator', { word: 'a' }, { key: demo.free }))
  t.strictSame(await ask, everywhere('refused forbidden'))
})

t.test('a plan waits at its gate and is carried out once after the approval', async t => {
  const found = await onEach(async ({ name, call: ask, again = ask }) => {
    const input = { word: `heavy ${name}` }
    const told = { key: demo.operator }
    const first = await ask('fix-plan', input, told)
    const { json } = await call(demo.operator, 'GET', '/v1/gates/requests?state=pending')
    const { id } = json.requests.find((one: { summary: string }) => one.summary.endsWith(name))
    const { status } = await call(demo.approver_a, 'POST', `/v1/gates/requests/${id}/approve`, {})
    return `${first}, ${status}, ${await again('fix-plan', input, told)}`
  })
  const expected = surfaces.map(({ name }) => [name, `pending, 200, done heavy ${name}`])
  t.strictSame(found, Object.fromEntries(expected))
  const moved = done.filter(word => word.startsWith('heavy '))
  t.strictSame(
    moved,
    surfaces.map(({ name }) => `heavy ${name}`),
  )
})

t.test('a call counts once; a skill in a conversation counts beside the message', async t => {
  const told = { key: demo.operator }
  const found = await onEach(async ({ call }) => {
    counted = 0
    await call('fix-read', { word: 'counted' }, told)
    return String(counted)
  })
  t.strictSame(found, { ...everywhere('1'), conversation: '2' })
})

t.test('a rate-limited caller is refused', async t => {
  const found = await onEach(async ({ call }) => {
    allowance = 0
    const outcome = await call('fix-read', { word: 'a' }, { key: demo.operator })
    allowance = Number.POSITIVE_INFINITY
    return outcome
  })
  t.strictSame(found, everywhere('refused rate_limited'))
})

t.test('a repeated call with a key is carried out once, and keys are per caller', async t => {
  const found = await onEach(async ({ name, call }) => {
    const told = { key: demo.operator, callKey: `once-${name}` }
    const word = `once ${name}`
    await call('fix-write', { word }, told)
    await call('fix-write', { word }, told)
    const other = await call('fix-write', { word: `${word} more` }, told)
    return `${done.filter(each => each === word).length}, ${other}`
  })
  t.strictSame(found, {
    ...everywhere('1, refused idempotency_key_reuse'),
    // its key is the id of the message
    A2A: '1, refused invalid_request',
  })
})

t.test(
  'a call that must not happen twice needs a key, which A2A has in its message id',
  async t => {
    const ask = (word: string, callKey?: string) =>
      onEach(({ name, call }) => {
        const told = { key: demo.operator, ...(callKey && { callKey: `${callKey}-${name}` }) }
        return call('fix-once', { word }, told)
      })
    t.strictSame(await ask('bare'), { ...everywhere('refused invalid_request'), A2A: 'done bare' })
    t.strictSame(await ask('keyed', 'key'), everywhere('done keyed'))
    t.strictSame(await ask('dry'), everywhere('done dry'))
  },
)

t.test('a caller that disconnects ends its call; over A2A it cancels the task', async t => {
  const found = await onEach(async ({ call, cancelCall }) => {
    const leaving = new AbortController()
    const { begun, aborted } = waiting.next()
    const told = { key: demo.operator, signal: leaving.signal }
    const sent = call('fix-wait', { word: 'a' }, told)
    await begun
    const end = cancelCall?.(demo.operator) ?? leaving.abort()
    const outcome = await sent.catch(error => error.name)
    await Promise.all([aborted, end])
    return outcome
  })
  t.strictSame(found, { ...everywhere('AbortError'), A2A: 'cancelled' })
})

t.test('a repetition waits for the late end of a timed-out call and returns it', async t => {
  const [{ call }] = surfaces as [(typeof surfaces)[number]]
  const told = { key: demo.operator, callKey: 'late' }
  const ask = () => call('fix-slow', { word: 'late' }, told)
  t.equal(await ask(), 'refused request_timeout')
  // a database on a busy machine may take longer than the time limit of the call
  const isAnswer = (outcome: string): boolean => outcome !== 'refused request_timeout'
  t.equal(await askUntil(ask, isAnswer), 'refused conflict', 'the first may still do something')
  release()
  const isFinal = (outcome: string): boolean => isAnswer(outcome) && outcome !== 'refused conflict'
  t.equal(await askUntil(ask, isFinal), 'done late')
  t.equal(done.filter(word => word === 'late').length, 1)
  const facts = { operation: 'fix-slow' }
  t.match(late, [facts, facts, facts, facts, facts, facts], 'each late end is logged')
})
