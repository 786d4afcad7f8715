import systeminformation from 'systeminformation'
import t from 'tap'
import { cliOf } from '../../coordinator/operations/declaration.ts'
import { operations } from '../../coordinator/operations/index.ts'
import { jsonSchema } from '../../coordinator/operations/json-schema.ts'
import { HOST_PROBES } from '../../shared/probes/host-probes.ts'
import { HOST_DATA_MAX_BYTES, HOST_PROBE_SECONDS } from '../../shared/wire/host-probe.ts'

/** Functions of the library that gather others, watch, or only concern the library itself. */
const LEFT_OUT = [
  ...['version', 'get', 'observe', 'getStaticData', 'getDynamicData', 'getAllData', 'dockerAll'],
  ...['powerShellStart', 'powerShellRelease'],
]

const probes = operations.filter(({ group }) => group === 'host')

t.test('each of the 60 functions of the library is a probe or left out for a reason', async t => {
  const exported = Object.keys(systeminformation)
  t.equal(exported.length, 60)
  const named = [...HOST_PROBES.map(({ call }) => call), ...LEFT_OUT]
  t.strictSame(named.toSorted(), exported.toSorted())
  t.equal(HOST_PROBES.length, 51)
})

t.test('each probe is one operation with a route of its own', async t => {
  t.strictSame(
    probes.map(({ id }) => id).toSorted(),
    HOST_PROBES.map(({ id }) => `host-${id}`).toSorted(),
  )
  for (const of of [
    ({ id }: (typeof probes)[number]) => id,
    ({ path }: (typeof probes)[number]) => path,
    (operation: (typeof probes)[number]) => Object.values(cliOf(operation)).join(' '),
    ({ description }: (typeof probes)[number]) => description,
  ])
    t.equal(new Set(probes.map(of)).size, 51)
})

for (const probe of HOST_PROBES)
  t.test(`host-${probe.id} is declared whole`, async t => {
    const operation = probes.find(({ id }) => id === `host-${probe.id}`)
    if (operation === undefined) return t.fail('it is not registered')
    t.match(probe.id, /^[a-z]+(-[a-z]+)*$/)
    t.match(operation, {
      method: 'GET',
      path: `/v1/cells/{cell_id}/host/${probe.id}`,
      access: 'operator',
      effect: 'read',
      cli: { group: 'host', verb: probe.id },
    })
    t.match(operation.description, /^[A-Z].{10,}\.$/s)
    t.ok(probe.deadlineSeconds < HOST_PROBE_SECONDS, 'it ends before the coordinator gives up')
    t.ok((operation.timeoutSeconds ?? 0) > HOST_PROBE_SECONDS)
    const input = jsonSchema(operation.input) as { properties: object; required: string[] }
    t.ok('cell_id' in input.properties && input.required.includes('cell_id'))
    const output = jsonSchema(operation.output) as { properties: Record<string, object> }
    t.strictSame(Object.keys(output.properties).toSorted(), [
      ...['available', 'cell_id', 'data', 'reason', 'taken_at'],
    ])
    t.match(output.properties.data, { 'x-max-bytes': HOST_DATA_MAX_BYTES })
    const data = { list: [{}], object: {}, text: 'x', number: 1 }[probe.shape]
    const answer = { available: true, reason: null, taken_at: new Date(0).toISOString() }
    const whole = { ...answer, cell_id: 'a' }
    t.ok(operation.output.safeParse({ ...whole, data }).success)
    t.ok(operation.output.safeParse({ ...whole, data: null }).success)
    const large = { list: [{ a: 'x'.repeat(HOST_DATA_MAX_BYTES) }] }.list
    t.notOk(operation.output.safeParse({ ...whole, data: large }).success)
  })
