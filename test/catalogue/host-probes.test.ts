import { readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import systeminformation from 'systeminformation'
import t from 'tap'
import { cliOf } from '../../coordinator/kernel/declaration/declaration.ts'
import { jsonSchema } from '../../coordinator/kernel/declaration/json-schema.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { HOST_PROBES } from '../../shared/probes/host-probes.ts'
import type { HostProbe } from '../../shared/probes/probe.ts'
import { HOST_DATA_MAX_BYTES, HOST_PROBE_SECONDS } from '../../shared/wire/host-probe.ts'

/** Functions of the library that gather others, watch, or only concern the library itself. */
const LEFT_OUT = [
  ...['version', 'get', 'observe', 'getStaticData', 'getDynamicData', 'getAllData', 'dockerAll'],
  ...['powerShellStart', 'powerShellRelease'],
]

const FIELDS = 'available,cell_id,data,reason,taken_at'

const probes = operations.filter(({ group }) => group === 'host')

t.test('each function of the library is either one probe or excluded for a reason', async t => {
  const exported = Object.keys(systeminformation)
  t.equal(exported.length, 60)
  const called = HOST_PROBES.map(({ call }) => call)
  t.strictSame([...called, ...LEFT_OUT].toSorted(), exported.toSorted())
})

t.test('each file declares the probe of its name, and each probe has a file', async t => {
  const folder = join(import.meta.dirname, '..', '..', 'shared', 'probes', 'host')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const names = files.filter(file => file.endsWith('.ts')).map(file => basename(file, '.ts'))
  t.strictSame(names.toSorted(), HOST_PROBES.map(({ id }) => id).toSorted())
  t.equal(names.length, 51)
})

t.test('each probe is one operation with its own route', async t => {
  t.strictSame(
    probes.map(({ id, path }) => [id, path]).toSorted(),
    HOST_PROBES.map(({ id }) => [`host-${id}`, `/v1/cells/{cell_id}/host/${id}`]).toSorted(),
  )
  const parts = probes.map(each => [Object.values(cliOf(each)).join(' '), each.description])
  t.equal(new Set(parts.flat()).size, 2 * 51)
})

/** Rules that a declaration of a probe breaks. */
const brokenRules = (probe: HostProbe): string[] => {
  const operation = probes.find(({ id }) => id === `host-${probe.id}`)
  if (operation === undefined) return ['is no operation']
  const { timeoutSeconds = 0, description, access, effect, method } = operation
  const input = jsonSchema(operation.input) as { properties: object; required: string[] }
  const output = jsonSchema(operation.output) as { properties: Record<string, object> }
  const whole = { available: true, reason: null, taken_at: new Date(0).toISOString(), cell_id: 'a' }
  const takes = (data: unknown) => operation.output.safeParse({ ...whole, data }).success
  const data = { list: [{}], object: {}, text: 'x', number: 1 }[probe.shape]
  const rules = {
    'has a name of words': /^[a-z]+(-[a-z]+)*$/.test(probe.id),
    'has a sentence as description': /^[A-Z].{10,}\.$/s.test(description),
    'is for operators and reads': `${access} ${effect} ${method}` === 'operator read GET',
    'is a verb of host': cliOf(operation).group === 'host' && cliOf(operation).verb === probe.id,
    'ends before the coordinator gives up': probe.deadlineSeconds < HOST_PROBE_SECONDS,
    'is waited for': timeoutSeconds > HOST_PROBE_SECONDS,
    'needs a cell': 'cell_id' in input.properties && input.required.includes('cell_id'),
    'has the fields of all': Object.keys(output.properties).toSorted().join() === FIELDS,
    'tells its largest size': 'x-max-bytes' in (output.properties.data ?? {}),
    'may have its shape or no data': takes(data) && takes(null),
    'is bounded': !takes([{ a: 'x'.repeat(HOST_DATA_MAX_BYTES) }]),
  }
  return Object.entries(rules).flatMap(([rule, holds]) => (holds ? [] : [`${probe.id}: ${rule}`]))
}

t.test('each probe follows the common rules', async t => {
  t.strictSame(HOST_PROBES.flatMap(brokenRules), [])
})
