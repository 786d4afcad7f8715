import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import t from 'tap'
import type * as z from 'zod'
import { isTool } from '../../coordinator/kernel/declaration/declaration.ts'
import { jsonSchema } from '../../coordinator/kernel/declaration/json-schema.ts'
import { discoveryUniverse } from '../../coordinator/surfaces/a2a/card-features.ts'
import { operations } from '../../coordinator/surfaces/catalogue/operations.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { HELPER_CLASSES } from '../../daemon/helper/helper-class.ts'
import { loadRun } from '../../discovery/load.ts'
import {
  type DiscoveryModule,
  isScan,
  MODULE_DOMAINS,
  type ModuleDomain,
} from '../../discovery/module.ts'
import { ALL_MODULES, DISCOVERY_MODULES } from '../../discovery/modules.ts'
import type { ScanRun } from '../../discovery/scan-run.ts'
import { findUnbounded } from '../support/find-unbounded.ts'
import { createScanContext } from '../support/scan-context.ts'

/** The modules of the interface specification by their domain on the card, each with its reach. */
const EXPECTED = {
  network: {
    'network-map': 'host',
    'mdns-scan': 'lan',
    'wifi-scan': 'radio',
    'ble-scan': 'radio',
    'snmp-discover': 'lan',
    'http-fingerprint': 'lan',
  },
  ai_ml: {
    'hub-models': 'internet',
    'ai-benchmarks': 'internet',
    'preprint-search': 'internet',
    'runtime-discover': 'lan',
    'llm-api-discover': 'lan',
    'runtime-pull-recommend': 'internet',
  },
  environment: {
    'weather-forecast': 'internet',
    'pv-forecast': 'internet',
    'air-quality': 'internet',
    'energy-price': 'internet',
  },
  osint: {
    'ct-log-search': 'internet',
    'whois-lookup': 'internet',
    'ip-to-asn': 'internet',
    'dns-scan': 'internet',
    'tls-cert-check': 'lan',
    'cve-search': 'internet',
    'cve-check': 'internet',
  },
  infrastructure: {
    'docker-inventory': 'host',
    'k8s-discover': 'lan',
    'cloud-discover': 'internet',
  },
  community: {
    'repo-releases': 'internet',
    'matrix-discover': 'internet',
    'registry-search': 'internet',
  },
  satellite: { 'iss-position': 'internet' },
} as const satisfies Record<ModuleDomain, Record<string, DiscoveryModule['reach']>>

/** Inputs of the modules that contact a machine whom their caller names. */
const OUTSIDE: Readonly<Record<string, object>> = {
  'snmp-discover': { subnet: '192.0.2.0/30' },
  'http-fingerprint': { host: '192.0.2.1', port: 80 },
  'tls-cert-check': { domains: ['192.0.2.1'] },
  'runtime-discover': { subnet: '192.0.2.0/30' },
  'k8s-discover': { api_server: 'https://192.0.2.1:6443' },
}

/** Modules of public data, which any key may call; the others look at hosts, networks and finds. */
const PUBLIC = new Set(
  [
    ...['environment', 'osint', 'community', 'satellite'].flatMap(domain =>
      Object.keys(EXPECTED[domain as ModuleDomain]),
    ),
    ...['hub-models', 'ai-benchmarks', 'preprint-search', 'runtime-pull-recommend'],
  ].filter(id => !['tls-cert-check', 'matrix-discover', 'registry-search'].includes(id)),
)

/** Words for quantities, which a unit has to follow. */
const QUANTITY =
  /(^|_)(age|ttl|latency|duration|elapsed|timeout|uptime|memory|speed|temperature|power|energy|distance|signal|rssi|frequency|bandwidth|price|voltage|pressure|humidity|radius|altitude)$/

const root = resolve(import.meta.dirname, '..', '..')
const programs = join(root, 'discovery', 'runs')

t.test(
  'the 30 modules of the specification are declared, in the folder of their domain',
  async t => {
    t.equal(DISCOVERY_MODULES.length, 30)
    const found: Record<string, Record<string, string>> = {}
    for (const { id, domain, reach } of DISCOVERY_MODULES)
      found[domain] = { ...found[domain], [id]: reach }
    t.same(found, EXPECTED)
  },
)

t.test(
  'every module has a program of its name, and no other program stands beside them',
  async t => {
    for (const module of ALL_MODULES) t.type(await loadRun(module), 'function', module.id)
    const files = readdirSync(programs, { recursive: true, encoding: 'utf8' })
    t.strictSame(
      files.filter(file => /^[a-z_]+\/[a-z0-9-]+\.ts$/.test(file)).toSorted(),
      ALL_MODULES.map(({ id, domain }) => `${domain}/${id}.ts`).toSorted(),
    )
  },
)

t.test('a declaration imports no foreign library but zod', async t => {
  for (const { id, domain } of ALL_MODULES) {
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

for (const module of ALL_MODULES)
  t.test(`${module.id} keeps the rules of modules`, async t => {
    t.match(module.description, /^[A-Z].{10,}\.$/s)
    t.not(module.tags.length, 0)
    t.ok(module.deadlineSeconds > 0 && module.deadlineSeconds <= 600, 'at most ten minutes')
    t.strictSame(findUnbounded(jsonSchema(module.input), 'input'), [])
    for (const example of module.examples)
      t.ok(module.input.safeParse(example).success, JSON.stringify(example))
    t.equal(module.access, PUBLIC.has(module.id) ? 'key' : 'operator')
    const output = isScan(module) ? module.row : module.data
    t.strictSame(findUnboundedOutput(output), [], 'its output is bounded')
    t.strictSame(findUnitless(jsonSchema(output), ''), [], 'its numbers name their unit')
    if (isScan(module)) t.ok(HELPER_CLASSES.includes(module.reach), 'it has a helper')
    else t.equal(module.reach, 'internet')
    if (module.autoRun === undefined) return
    t.ok(module.autoRun.everySeconds >= 60, 'it runs rarely')
    t.ok(module.input.safeParse({}).success, 'its scheduled runs need no input')
    t.not(module.reach, 'radio', 'a module that transmits runs only when it is called')
  })

t.test('every module is one skill and two tools, made from its declaration', async t => {
  const ids = new Set(operations.map(({ id }) => id))
  const parts = ALL_MODULES.filter(module => !DISCOVERY_MODULES.includes(module))
  t.strictSame(
    parts.map(({ id }) => id),
    ['host-scan'],
    'parts of a scan are neither',
  )
  for (const { id } of parts) t.notOk(ids.has(id) || ids.has(`module-${id}-run`))
  for (const { id, access } of DISCOVERY_MODULES) {
    const skill = skills.find(each => each.id === id)
    t.match(skill, { access, effect: 'read', path: `/v1/skills/${id}`, group: 'discovery' })
    t.ok(ids.has(`module-${id}-run`) && ids.has(`module-${id}-last`), id)
    const last = operations.find(operation => operation.id === `module-${id}-last`)
    t.equal(last?.access, 'operator', 'a last result shows what somebody else asked')
  }
  const tools = operations.filter(({ group }) => group === 'modules')
  t.equal(tools.filter(isTool).length, 60)
  t.equal(tools.length, 60)
})

t.test(
  'the card counts 30 modules, 27 skills and 7 domains, and links the paths of discovery',
  async t => {
    const parts = { skills, operations, modules: DISCOVERY_MODULES, built: new Set<never>() }
    const { endpoints, ...counts } = discoveryUniverse(parts)
    t.strictSame(counts, {
      version: '1.0.0',
      modules: 30,
      skills: 27,
      auto_run: true,
      domains_covered: [...MODULE_DOMAINS],
    })
    t.strictSame(Object.values(endpoints).toSorted(), [
      '/a2a/discovery',
      '/a2a/discovery/dashboard',
      '/a2a/discovery/export',
      '/a2a/discovery/registry',
      '/a2a/discovery/run',
      '/a2a/discovery/subscribe',
    ])
  },
)

t.test('a module contacts no machine outside the scope, whatever its caller names', async t => {
  for (const [id, input] of Object.entries(OUTSIDE)) {
    const module = DISCOVERY_MODULES.find(each => each.id === id) as DiscoveryModule
    const run = (await loadRun<ScanRun<object>>(module)) as ScanRun<object>
    t.match(
      await describeRun(run(module.input.parse(input), createScanContext({}))),
      /outside the scope/,
      id,
    )
  }
})

/** Rows of a run, or the message of its refusal. */
const describeRun = async (rows: ReturnType<ScanRun>): Promise<string> => {
  const list: object[] = []
  try {
    for await (const row of rows) list.push(row)
    return JSON.stringify(list)
  } catch (error) {
    return (error as Error).message
  }
}

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
