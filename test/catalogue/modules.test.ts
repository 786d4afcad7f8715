import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import t from 'tap'
import type * as z from 'zod'
import { operations } from '../../coordinator/operations/index.ts'
import { jsonSchema } from '../../coordinator/operations/json-schema.ts'
import { skills } from '../../coordinator/skills/index.ts'
import { HELPER_CLASSES } from '../../daemon/helper/helper-class.ts'
import { type DiscoveryModule, isScan } from '../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'
import { MODULE_MAX_SECONDS } from '../../shared/wire/findings.ts'
import { findUnbounded } from '../support/find-unbounded.ts'

/** The modules of the interface specification by their domain on the card. */
const EXPECTED = {
  network: [
    'network-map',
    'mdns-scan',
    'wifi-scan',
    'ble-scan',
    'snmp-discover',
    'http-fingerprint',
  ],
  ai_ml: [
    ...['hub-models', 'ai-benchmarks', 'preprint-search', 'runtime-discover'],
    ...['llm-api-discover', 'runtime-pull-recommend'],
  ],
  environment: ['weather-forecast', 'pv-forecast', 'air-quality', 'energy-price'],
  osint: [
    ...['ct-log-search', 'whois-lookup', 'ip-to-asn', 'dns-scan', 'tls-cert-check'],
    ...['cve-search', 'cve-check'],
  ],
  infrastructure: ['docker-inventory', 'k8s-discover', 'cloud-discover'],
  community: ['repo-releases', 'matrix-discover', 'registry-search'],
  satellite: ['iss-position'],
} satisfies Record<DiscoveryModule['domain'], string[]>

/** Modules of public data, which any key may call; the others look at hosts, networks and finds. */
const PUBLIC = new Set(
  [...EXPECTED.environment, ...EXPECTED.osint, ...EXPECTED.community, ...EXPECTED.satellite]
    .concat(['hub-models', 'ai-benchmarks', 'preprint-search', 'runtime-pull-recommend'])
    .filter(id => !['tls-cert-check', 'matrix-discover', 'registry-search'].includes(id)),
)

/** Words for quantities, which a unit has to follow. */
const QUANTITY =
  /(^|_)(age|ttl|latency|duration|elapsed|timeout|uptime|memory|speed|temperature|power|energy|distance|signal|rssi|frequency|bandwidth|price|voltage|pressure|humidity|radius|altitude)$/

const root = resolve(import.meta.dirname, '..', '..')
const known = new Set(Object.values(EXPECTED).flat())
const missing = [...known].filter(id => !DISCOVERY_MODULES.some(module => module.id === id))

t.test('every module is one of the specification, in the folder of its domain', async t => {
  t.equal(known.size, 30)
  if (missing.length > 0) t.comment(`not there yet: ${missing.join(', ')}`)
  for (const { id, domain } of DISCOVERY_MODULES)
    t.ok((EXPECTED[domain] as string[]).includes(id), `${domain}/${id}`)
})

t.test('the program of a module has its name and stands in its domain', async t => {
  const folder = join(root, 'discovery', 'runs')
  const without = DISCOVERY_MODULES.filter(
    ({ id, domain }) => !existsSync(join(folder, domain, `${id}.ts`)),
  )
  if (without.length > 0) t.comment(`no program yet: ${without.map(({ id }) => id).join(', ')}`)
  const files = existsSync(folder) ? readdirSync(folder, { recursive: true, encoding: 'utf8' }) : []
  const programs = files.filter(file => /^[a-z_]+\/[a-z0-9-]+\.ts$/.test(file))
  for (const file of programs) {
    const isHelper = !known.has(basename(file, '.ts'))
    const module = DISCOVERY_MODULES.find(({ id }) => id === basename(file, '.ts'))
    t.ok(isHelper || module?.domain === dirname(file), `${file} belongs to a module`)
  }
})

t.test('a declaration imports no foreign library but zod', async t => {
  for (const { id, domain } of DISCOVERY_MODULES) {
    const text = readFileSync(join(root, 'discovery', 'modules', domain, `${id}.ts`), 'utf8')
    const from = [...text.matchAll(/from '([^']+)'/g)].map(([, path = '']) => path)
    t.strictSame(
      from.filter(path => path !== 'zod' && !path.startsWith('.')),
      [],
      id,
    )
    t.notMatch(from.join(), /\/runs\//, `${id} does not load its program`)
  }
})

for (const module of DISCOVERY_MODULES)
  t.test(`${module.id} keeps the rules of modules`, async t => {
    t.match(module.description, /^[A-Z].{10,}\.$/s)
    t.not(module.tags.length, 0)
    t.ok(module.deadlineSeconds > 0 && module.deadlineSeconds <= MODULE_MAX_SECONDS, 'a deadline')
    t.strictSame(findUnbounded(jsonSchema(module.input), 'input'), [])
    for (const example of module.examples)
      t.ok(module.input.safeParse(example).success, JSON.stringify(example))
    t.equal(module.access, PUBLIC.has(module.id) ? 'key' : 'operator')
    const output = isScan(module) ? module.row : module.data
    t.strictSame(findUnboundedOutput(output), [], 'its output is bounded')
    t.strictSame(findUnitless(jsonSchema(output), ''), [], 'its numbers name their unit')
    if (isScan(module)) t.ok(HELPER_CLASSES.includes(module.reach), 'it has a helper')
    else t.equal(module.reach, 'internet')
    if (module.autoRun !== undefined) t.ok(module.autoRun.everySeconds >= 60, 'it runs rarely')
  })

t.test('every module is one skill and two tools, made from its declaration', async t => {
  const ids = new Set(operations.map(({ id }) => id))
  for (const { id, access } of DISCOVERY_MODULES) {
    const skill = skills.find(each => each.id === id)
    t.match(skill, { access, effect: 'read', path: `/v1/skills/${id}`, group: 'discovery' })
    t.ok(ids.has(`module-${id}-run`) && ids.has(`module-${id}-last`), id)
    const last = operations.find(operation => operation.id === `module-${id}-last`)
    t.equal(last?.access, 'operator', 'a last result shows what somebody else asked')
  }
  t.equal(
    operations.filter(({ group }) => group === 'modules').length,
    2 * DISCOVERY_MODULES.length,
  )
})

/** Times have a fixed form, and the size of a row bounds its objects. */
const findUnboundedOutput = (output: z.ZodType): string[] => {
  const bounded = JSON.parse(JSON.stringify(jsonSchema(output)), (_key, value) =>
    value?.format === 'date-time' ? { ...value, maxLength: 64 } : value,
  )
  return findUnbounded(bounded, 'output').filter(at => !at.endsWith(': an object'))
}

interface Schema {
  type?: string | string[]
  properties?: Record<string, Schema>
  items?: Schema
  anyOf?: Schema[]
}

/** Names of numbers that end with a quantity instead of its unit. */
const findUnitless = (
  { type, properties = {}, items, anyOf = [] }: Schema,
  at: string,
): string[] => {
  const isNumber = type === 'number' || type === 'integer'
  const own = isNumber && QUANTITY.test(at.split('.').at(-1) ?? '') ? [at] : []
  return [
    ...own,
    ...anyOf.flatMap(each => findUnitless(each, at)),
    ...(items === undefined ? [] : findUnitless(items, at)),
    ...Object.entries(properties).flatMap(([key, each]) => findUnitless(each, `${at}.${key}`)),
  ]
}
