import t from 'tap'
import { putClaim } from '../../../discovery/entities/claim.ts'
import { describeEntity } from '../../../discovery/entities/describe-entity.ts'
import { normaliseKey } from '../../../discovery/entities/normalise-key.ts'
import { confidenceOf } from '../../../discovery/entities/source-weights.ts'
import { RUNTIME_RULES } from '../../../discovery/runs/ai_ml/runtimes/runtime-rules.ts'
import type { ServiceFact, SightingFacts, SightingKey } from '../../../discovery/sighting.ts'

const NOW = Date.UTC(2026, 5, 1)
const YEAR_AGO = NOW - 365 * 86_400_000

const describe = (facts: SightingFacts, keys: SightingKey[] = [], firstAt = YEAR_AGO) =>
  describeEntity(
    {
      keys,
      claims: [{ module: 'network-map', cellId: 'c', at: NOW, ttl_s: undefined, facts }],
      pinned: {},
      firstAt,
    },
    NOW,
  )

const service = (over: Partial<ServiceFact>): ServiceFact => ({
  port: 80,
  transport: 'tcp',
  name: 'http',
  product: null,
  version: null,
  is_encrypted: null,
  is_open: null,
  ...over,
})

const certificate = (days: number, is_self_signed = false) => ({
  subject: 'a',
  issuer: 'b',
  expires_at: new Date(NOW + days * 86_400_000).toISOString(),
  is_self_signed,
  is_name_match: null,
})

t.test('keys have one form, and what identifies nothing is rejected with a reason', async t => {
  for (const [kind, value, result] of [
    ['mac', 'B8-27-EB-00-00-01', 'mac=b8:27:eb:00:00:01'],
    ['mac', '5254.0012.3456', 'private_mac=52:54:00:12:34:56'],
    ['mac', '00:00:5e:00:01:0a', 'virtual_router'],
    ['mac', '00:00:0c:07:ac:01', 'virtual_router'],
    ['mac', 'ff:ff:ff:ff:ff:ff', 'group_address'],
    ['mac', '01:00:5e:00:00:fb', 'group_address'],
    ['mac', '02:42:ac:11:00:02', 'container_address'],
    ['mac', 'b8:27:eb', 'malformed'],
    ['ble_public_address', 'c2:11:22:33:44:55', 'random_address'],
    ['serial', 'To be filled by O.E.M.', 'placeholder'],
    ['serial', '0000000', 'placeholder'],
    ['ip', '127.0.0.1', 'host_local_address'],
    ['ip', '::ffff:10.0.0.1', 'ip=10.0.0.1'],
    ['fqdn', 'Printer.LAN.', 'fqdn=printer.lan'],
    ['fqdn', 'printer.local', 'name=printer.local'],
    ['name', 'localhost', 'placeholder'],
    ['serial', 'SN\u0000123456', 'malformed'],
    ['serial', 'SN123456\ud83d', 'malformed'],
  ] as const) {
    const { key, rejected } = normaliseKey({ kind, value })
    t.equal(rejected ?? `${key?.kind}=${key?.value}`, result, `${kind} ${value}`)
  }
})

t.test('a field has the value of its best source and lists the others', async t => {
  const claims = [
    {
      module: 'network-map',
      cellId: 'c',
      at: NOW,
      ttl_s: undefined,
      facts: { name: 'a', ip_addresses: ['10.0.0.2'] },
    },
    {
      module: 'snmp-discover',
      cellId: 'c',
      at: NOW - 3_600_000,
      ttl_s: undefined,
      facts: { name: 'b', ip_addresses: ['10.0.0.10'] },
    },
  ]
  const { fields } = describeEntity({ keys: [], claims, pinned: {}, firstAt: YEAR_AGO }, NOW)
  t.match(fields.name, {
    value: 'b',
    source: 'snmp-discover',
    conflicts: [{ value: 'a', source: 'network-map' }],
  })
  t.strictSame(fields.ip_addresses?.value, ['10.0.0.2', '10.0.0.10'], 'lists add up')
  const pinned = describeEntity(
    { keys: [], claims, pinned: { name: 'mine' }, firstAt: YEAR_AGO },
    NOW,
  )
  t.match(pinned.fields.name, { value: 'mine', source: 'operator', confidence: 1 })
  const older = putClaim(claims, {
    module: 'network-map',
    cellId: 'c',
    at: NOW - 1,
    ttl_s: undefined,
    facts: {},
  })
  t.equal(
    older.find(({ module }) => module === 'network-map')?.at,
    NOW,
    'an older claim is ignored',
  )
})

t.test('confidence adds independent sources and decays', async t => {
  const source = { module: 'network-map', at: NOW, ttl_s: undefined }
  t.equal(confidenceOf([source], NOW), 0.7)
  t.equal(confidenceOf([source, source], NOW), 0.7, 'one module is one source')
  t.equal(confidenceOf([source, { ...source, module: 'mdns-scan' }], NOW), 0.94)
  t.equal(confidenceOf([source], NOW + 3_600_000), 0.35, 'after its half-life')
})

t.test('facts speak for types', async t => {
  t.match(describe({}).types, [{ type: 'unknown', confidence: 0 }])
  t.match(
    describe({ services: [service({ port: 9100 })], claimed_types: ['_ipp._tcp'] }).types[0],
    {
      type: 'printer',
      confidence: 0.955,
      evidence: ['_ipp._tcp', 'http at port 9100'],
    },
  )
  t.equal(describe({}, [{ kind: 'shoal_cell', value: 'cell_1' }]).types[0].type, 'cell')
  t.ok(
    describe({ models: ['m'], services: [service({ port: 22, name: 'ssh' })] }).types.length <= 2,
  )
})

t.test('risks add up and are explained', async t => {
  const levelOf = (facts: SightingFacts, firstAt = YEAR_AGO): [string, string[]] => {
    const { level, reasons } = describe(facts, [], firstAt).risk
    return [level, reasons.map(({ id }) => id)]
  }
  t.strictSame(levelOf({}), ['none', []])
  t.strictSame(levelOf({ services: [service({ name: 'ollama', port: 11434, is_open: true })] }), [
    'high',
    ['open_llm_api'],
  ])
  t.strictSame(levelOf({ services: [service({ name: 'ollama', is_open: false })] }), ['none', []])
  for (const { kind } of RUNTIME_RULES) {
    const open = levelOf({ services: [service({ name: kind, is_open: true })] })
    t.strictSame(open, ['high', ['open_llm_api']], kind)
  }
  for (const name of ['redis', 'docker'])
    t.strictSame(levelOf({ services: [service({ name, is_open: true })] })[1], ['open_database'])
  t.strictSame(
    levelOf({ services: [service({ name: 'telnet', port: 23 })], default_credentials: true }),
    ['critical', ['default_credentials', 'telnet']],
  )
  t.strictSame(levelOf({ wifi_security: 'open' }), ['medium', ['open_wifi']])
  t.strictSame(levelOf({ certificate: certificate(-1) }), ['medium', ['expired_certificate']])
  t.strictSame(levelOf({ certificate: certificate(13) }), ['low', ['expiring_certificate']])
  t.strictSame(levelOf({ certificate: certificate(15) }), ['none', []])
  t.strictSame(
    levelOf({ certificate: certificate(99, true), services: [service({ port: 8443 })] }),
    ['low', ['self_signed_admin']],
  )
  t.strictSame(levelOf({}, NOW - 23 * 3_600_000), ['low', ['new_device']])
  t.strictSame(levelOf({}, NOW - 25 * 3_600_000), ['none', []])
})
