import t from 'tap'
import { readableAnswer } from '../../../clients/cli/readable-answer.ts'
import { formatOutput, type PrintableRows } from '../../../shared/print.ts'

const AT = '2026-01-05T10:00:00.000Z'

const field = (value: unknown, conflicts: object[] = []) => ({
  value,
  source: 'mdns-scan',
  cell_id: 'cell_a',
  at: AT,
  confidence: 0.9,
  conflicts,
})

const service = { port: 631, transport: 'tcp', name: 'ipp', product: null, is_open: true }
const PRINTER = {
  entity_id: 'ent_1',
  name: 'Hall printer',
  device_type: 'printer',
  risk_level: 'low',
  confidence: 0.9,
  is_present: true,
  first_seen: AT,
  last_seen: AT,
  types: [{ type: 'printer', confidence: 0.9, evidence: ['_ipp._tcp'] }],
  risk: { level: 'low', points: 5, reasons: [{ id: 'new_device', points: 5, reason: 'new' }] },
  keys: [{ kind: 'mac', value: 'b8:27:eb:00:00:01' }],
  sources: [
    { module: 'mdns-scan', cell_id: 'cell_a', at: AT, ttl_s: null },
    { module: 'network-map', cell_id: 'cell_b', at: AT, ttl_s: null },
  ],
  fields: {
    vendor: field('Brother', [{ value: 'Acme', source: 'snmp-discover', at: AT }]),
    ip_addresses: field(['10.0.0.1', '10.0.0.2', 'fe80::1']),
    services: field([service]),
  },
}
const PHONE = { ...PRINTER, entity_id: 'ent_2', name: null, fields: {}, sources: [] }

const shown = (answer: object): string =>
  formatOutput(readableAnswer(answer) as PrintableRows, 'text')

t.test('a list of entities has a line for each with what a person looks for', async t => {
  const text = shown({ data_state: 'live', entities: [PRINTER, PHONE], next: null })
  const [head = '', printer = '', phone = ''] = text.split('\n')
  t.match(head, /^entity_id +name +type +vendor +addresses +risk +last_seen +present +cell$/)
  t.match(
    printer,
    /^ent_1 +Hall printer +printer +Brother +10\.0\.0\.1 10\.0\.0\.2 \+1 +low +2026-01-05T10:00:00Z +true +cell_a cell_b$/,
  )
  t.match(phone, /^ent_2 +- +printer +- +- +low/)
  t.notMatch(text, /\{/, 'nothing is JSON')
})

t.test('one entity is shown whole, each value with where it comes from', async t => {
  const text = shown(PRINTER)
  t.match(text, /^device_type +printer$/m)
  t.match(text, /^field +value +source +cell_id +at +confidence +others$/m)
  t.match(text, /^vendor +Brother +mdns-scan +cell_a .+ Acme \(snmp-discover\)$/m)
  t.match(text, /^ip_addresses +10\.0\.0\.1, 10\.0\.0\.2, fe80::1 +mdns-scan/m)
  t.match(text, /^services +port=631 transport=tcp name=ipp is_open=true +mdns-scan/m)
  for (const part of [/new_device/, /_ipp\._tcp/, /b8:27:eb:00:00:01/, /network-map +cell_b/])
    t.match(text, part)
})
