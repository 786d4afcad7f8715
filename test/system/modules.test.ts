import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { openDeviceFleet } from '../support/device-fleet.ts'
import { waitUntil } from '../support/wait-until.ts'

/* A real coordinator, a real cell and its real helper processes: the way of a finding. */

t.test('modules run on a cell when they are asked for, and by themselves', async t => {
  const { call } = await openDeviceFleet(t, [{ discovery: { scope: ['192.0.2.8'] } }])
  const get = (path: string) => call('operator', 'GET', path)
  const post = (path: string, body: object) => call('operator', 'POST', path, body)
  const [cellId] = await waitUntil('the cell is ready', async () => {
    const { body } = await get('/v1/cells')
    const cells = body.cells as { id: string; presence: string; capability: number }[] | undefined
    const ready = cells?.filter(({ presence }) => presence === 'ready').map(({ id }) => id) ?? []
    const { status } = await get('/v1/modules/network-map/last')
    return ready.length === 1 && status === 404 && ready
  })

  await t.test('what the kernel knows is read in the helper, and kept', async t => {
    const { status, body } = await post('/v1/skills/network-map', {})
    t.equal(status, 200)
    t.match(body, { cells: [{ cell_id: cellId, available: true, reason: null }] })
    const findings = body.findings as { cell_id: string }[]
    t.ok(findings.length > 0 && findings.every(({ cell_id }) => cell_id === cellId))
    const last = await get(`/v1/modules/network-map/last?cell=${cellId}`)
    t.equal((last.body.findings as object[]).length, findings.length)
    const again = await post('/v1/modules/network-map/run', { cell: cellId })
    t.equal(again.status, 200)
  })

  await t.test('a target outside the scope is not contacted until it is added', async t => {
    const server = createServer((_request, response) => response.end('hello'))
    await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
    t.teardown(() => server.close())
    const { port } = server.address() as AddressInfo
    const near = await post('/v1/skills/http-fingerprint', { host: '127.0.0.1', port })
    t.match(near, { status: 200, body: { data_state: 'live', cells: [{ available: true }] } })
    const far = await post('/v1/skills/http-fingerprint', { host: '198.51.100.7', port: 80 })
    t.match(far, {
      status: 403,
      body: { error: { code: 'scope_denied', message: /198\.51\.100\.7 is outside the scope/ } },
    })
    t.match(await post('/v1/skills/http-fingerprint?cell=nobody', { host: '127.0.0.1' }), {
      status: 404,
    })
  })

  await t.test('the cell proposes its own subnets, and takes what an admin adds', async t => {
    const added = await post('/v1/discovery/scope', { target: '198.51.100.0/24' })
    t.equal(added.status, 200)
    const config = () => get(`/v1/cells/${cellId}/config`)
    await waitUntil('the scope is in force', async () => {
      const { reported } = (await config()).body as { reported?: { applied_version: number } }
      return (reported?.applied_version ?? 0) > 0
    })
    t.match((await config()).body, {
      desired: { document: { discovery: { scope: [{ target: '198.51.100.0/24' }] } } },
    })
    t.ok(Array.isArray((await get('/v1/discovery/scope')).body.proposals))
  })
})
