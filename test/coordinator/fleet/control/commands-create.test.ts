import t from 'tap'
import type { CommandRequest } from '../../../../coordinator/fleet/control/commands.ts'
import { appWith, views } from '../../../support/app.ts'

const COMMAND = {
  id: 'cmd_1',
  cellId: 'cell_a',
  state: 'queued',
  hazard: 'unsafe',
  mode: 'live',
  requestedBy: 'key:key-admin',
  issuedAt: 0,
  expiresAt: 1,
  updatedAt: 0,
  signed: { params: {} },
}
const PLAN = { parts: [{ cell_id: 'cell_a', part_hash: 'f' }] }

t.test('a command is planned, approved and created in the transaction of its approval', async t => {
  const done: string[] = []
  let state = 'pending'
  const asked: object[] = []
  const app = await appWith({
    views: views({
      cells: { get: async () => ({}), listNamed: async () => [] },
      fleet: { cells: () => [], cell: () => undefined },
      commands: {
        needsApproval: ({ verb, mode }: CommandRequest) => verb === 'fly' && mode === 'live',
        plan: async ({ params }: CommandRequest) => ({
          plan: PLAN,
          checks: [],
          hazard: params.height === 0 ? 'safe' : 'unsafe',
        }),
        create: async ({ verb, hazard }: CommandRequest) => {
          done.push(hazard === undefined ? `create ${verb}` : `create ${verb} ${hazard}`)
          return { ...COMMAND, verb }
        },
        createWithin: async (trx: string, { verb }: CommandRequest, _by: object, yes: object) => {
          t.strictSame(yes, { plan: PLAN, approval: 'signed' })
          done.push(`create ${verb} in ${trx}`)
          return { ...COMMAND, verb }
        },
      },
      gates: {
        request: async (one: object) => {
          asked.push(one)
          return { id: 'gate_1', gateId: 'gate.device-command-live', state, expiresAt: 1 }
        },
        rulesFault: () => 'the rules of the gate have changed',
        consume: async (_id: string, _by: object, { plan, runInTransaction }: Json) => {
          t.strictSame(plan, PLAN)
          await runInTransaction('the use', 'signed')
        },
      },
    } as never),
  })
  t.teardown(() => app.close())
  const send = (payload: object) =>
    app.inject({
      method: 'POST',
      url: '/v1/cells/cell_a/commands',
      payload,
      headers: { authorization: 'Bearer admin-key' },
    })
  const create = async (verb: string, mode: string, params = {}) =>
    (await send({ verb, mode, params })).statusCode
  t.equal(await create('ping', 'live'), 200, 'what is safe runs at once')
  t.equal(await create('fly', 'dry'), 200, 'and so does a dry command')
  t.equal(await create('fly', 'live', { height: 0 }), 200, 'and so do parameters that are safe')
  t.equal(await create('fly', 'live'), 202)
  t.match(asked, [{ gateId: 'gate.device-command-live', plan: PLAN, summary: 'fly on cell_a' }])
  state = 'approved'
  t.equal(await create('fly', 'live'), 200)
  const forDevice = { device_id: `dev_${'0'.repeat(20)}`, verb: 'ping' }
  t.match((await send({ ...forDevice, mode: 'live' })).json().error, { param: 'Idempotency-Key' })
  const late = await send({ ...forDevice, mode: 'dry', ttl_seconds: 61 })
  t.match([late.statusCode, late.json().error.message], [422, /waits at most 60 s, because/])
  t.strictSame(done, ['create ping', 'create fly', 'create fly safe', 'create fly in the use'])
})

// biome-ignore lint/suspicious/noExplicitAny: a fake of the narrow part that is used
type Json = any
