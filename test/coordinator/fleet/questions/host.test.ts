import t, { type Test } from 'tap'
import type { Views } from '../../../../coordinator/assembly/coordinator.ts'
import { newCell } from '../../../../coordinator/fleet/cells/cell.ts'
import { HOST_DATA_MAX_BYTES } from '../../../../shared/wire/host-probe.ts'
import { appWith, views } from '../../../support/app.ts'
import { type CellHandler, linkCell } from '../../../support/cell.ts'

/** The real front with one cell on a real link that answers as the test says, and one that is away. */
const rig = async (t: Test, handler: CellHandler) => {
  const linked = await linkCell('near', handler)
  const cells = [{ ...newCell('near', 1), link: linked.link }, newCell('away', 1)]
  const cell = (id: string) => cells.find(each => each.id === id)
  const parts = {
    fleet: { cells: () => cells, cell, serves: () => false },
    cells: { get: async (id: string) => cell(id), listNamed: async () => [] },
  } as unknown as Partial<Views>
  const app = await appWith({ views: views(parts) })
  t.teardown(async () => {
    await app.close()
    await linked.close()
  })
  return async (path: string, key = 'admin-key') => {
    const headers = { authorization: `Bearer ${key}` }
    const response = await app.inject({ url: `/v1/cells/${path}`, headers })
    return { status: response.statusCode, body: response.json() }
  }
}

const answerWith =
  (answer: object | string, status = 200): CellHandler =>
  (_request, response) => {
    response.statusCode = status
    response.end(typeof answer === 'string' ? answer : JSON.stringify(answer))
  }

const AT = 1_800_000_000_000
const FINE = { available: true, reason: null, taken_at: AT, data: { total: 1 } }

t.test('the answer of the cell is returned with the cell and the time', async t => {
  const asked: string[] = []
  const ask = await rig(t, (request, response) => {
    asked.push(`${request.method} ${request.url}`)
    answerWith(FINE)(request, response)
  })
  t.strictSame(await ask('near/host/mem'), {
    status: 200,
    body: {
      available: true,
      reason: null,
      taken_at: new Date(AT).toISOString(),
      cell_id: 'near',
      data: { total: 1 },
    },
  })
  t.strictSame(asked, ['GET /host/mem?input=%7B%7D'])
})

t.test('sizes are declared unless their names state the unit', async t => {
  const app = await appWith({ views: views({}) })
  t.teardown(() => app.close())
  const { paths } = (await app.inject('/v1/openapi.json')).json()
  t.match(paths['/v1/cells/{cell_id}/host/fs-size'].get['x-shoal-cli'], {
    verb: 'fs-size',
    units: { size: 'bytes', used: 'bytes', available: 'bytes' },
  })
  t.notHas(paths['/v1/cells/{cell_id}/host/users'].get['x-shoal-cli'], { units: {} })
})

t.test('parameters travel as JSON, including a list of one', async t => {
  let input: unknown
  const ask = await rig(t, (request, response) => {
    input = JSON.parse(new URLSearchParams(request.url.split('?')[1]).get('input') ?? '')
    answerWith({ ...FINE, data: [] })(request, response)
  })
  t.equal((await ask('near/host/services?names=ssh')).status, 200)
  t.strictSame(input, { names: ['ssh'] })
  await ask('near/host/docker-images?all=true')
  t.strictSame(input, { all: true })
})

t.test('shell metacharacters are refused before the cell is called', async t => {
  const ask = await rig(t, () => t.fail('the cell was asked'))
  for (const query of ['names=%24(id)', 'names=a%0Ab', "names='", 'names=-x', 'names=', 'other=1'])
    t.match(await ask(`near/host/services?${query}`), {
      status: 422,
      body: { error: { code: 'invalid_request' } },
    })
  t.match(await ask('near/host/services?names=%24(id)'), {
    body: { error: { param: 'names.0', message: /names\.0/ } },
  })
  t.match(await ask('near/host/process-load'), { status: 422, body: { error: { param: 'names' } } })
  t.match(await ask('near/host/inet-latency?host=a%20b'), { status: 422 })
})

t.test('an outdated daemon is reported', async t => {
  const ask = await rig(t, answerWith({ error: {} }, 404))
  const { status, body } = await ask('near/host/mem')
  t.equal(status, 200)
  t.match(body, { available: false, data: null, cell_id: 'near', reason: /daemon .* is too old/ })
})

t.test('an offline cell and an unknown cell are reported', async t => {
  const ask = await rig(t, answerWith(FINE))
  t.match(await ask('away/host/mem'), {
    status: 503,
    body: { error: { code: 'cell_unavailable' } },
  })
  t.match(await ask('nobody/host/mem'), { status: 404, body: { error: { code: 'not_found' } } })
})

t.test('only operators may probe a host', async t => {
  const ask = await rig(t, () => t.fail('the cell was asked'))
  t.match(await ask('near/host/mem', 'pro-key'), { status: 403 })
  t.match(await ask('near/host/mem', 'nobody'), { status: 401 })
})

t.test('any invalid answer of a cell is 503 and never an internal error', async t => {
  const deep = `${'['.repeat(50_000)}${']'.repeat(50_000)}`
  for (const [name, handler] of Object.entries<CellHandler>({
    'another form': answerWith({ ...FINE, data: [1] }),
    'no JSON': answerWith('{'),
    'no answer': answerWith({}),
    'a time that no date holds': answerWith({ ...FINE, taken_at: 9e15 }),
    'deep JSON': answerWith(`{"available":true,"reason":null,"taken_at":1,"data":{"a":${deep}}}`),
    'too much': answerWith({ ...FINE, data: { a: 'x'.repeat(HOST_DATA_MAX_BYTES) } }),
    'far too much': answerWith('x'.repeat(2 * HOST_DATA_MAX_BYTES)),
    busy: answerWith({}, 429),
    'a failure': answerWith({}, 500),
    'a cut': (_request, response) => response.stream.destroy(),
  })) {
    const ask = await rig(t, handler)
    const { status, body } = await ask('near/host/mem')
    t.equal(status, 503, name)
    t.equal(body.error.code, 'cell_unavailable', name)
  }
  const ask = await rig(t, answerWith({}, 422))
  t.match(await ask('near/host/mem'), { status: 422 })
})
