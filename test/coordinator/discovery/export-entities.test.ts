import t from 'tap'
import { exportEntities } from '../../../coordinator/discovery/export-entities.ts'
import type { EntityView } from '../../../coordinator/discovery/registry-query.ts'

const AT = Date.UTC(2026, 0, 5)
const field = (value: unknown) => ({ value })

const ENTITY: EntityView = {
  entity_id: 'ent_1',
  name: '=cmd, "x"',
  device_type: 'llm_server',
  risk_level: 'high',
  confidence: 0.9,
  is_present: true,
  first_seen: new Date(AT).toISOString(),
  last_seen: new Date(AT).toISOString(),
  types: [{ type: 'llm_server', confidence: 0.9, evidence: ['ollama at port 11434'] }],
  risk: { level: 'high', points: 50, reasons: [] },
  keys: [],
  sources: [],
  fields: {
    vendor: field('Acme'),
    models: field(['model-a:7b']),
    ip_addresses: field(['10.0.0.1']),
  },
}

const write = (format: 'json' | 'csv' | 'jsonl' | 'cyclonedx', isFirst = true): string =>
  exportEntities([ENTITY], format, { isFirst, at: AT })

t.test('entities are exported as text', async t => {
  t.equal(JSON.parse(write('json')).entities[0].entity_id, 'ent_1')
  t.equal(write('jsonl').split('\n').length, 2)
  const [head, row] = write('csv').split('\r\n')
  t.match(head, /^entity_id,name,/)
  t.match(row, /^ent_1,"'=cmd, ""x""",llm_server,high/, 'no spreadsheet runs a name')
  t.match(write('csv', false), /^ent_1/, 'a later page has no header')
})

t.test('an inventory in CycloneDX has devices and their models', async t => {
  const bom = JSON.parse(write('cyclonedx'))
  t.match(bom, {
    bomFormat: 'CycloneDX',
    specVersion: '1.6',
    serialNumber: /^urn:uuid:[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
    version: 1,
    components: [
      {
        type: 'device',
        'bom-ref': 'ent_1',
        manufacturer: { name: 'Acme' },
        components: [{ type: 'machine-learning-model', name: 'model-a:7b' }],
      },
    ],
  })
  const refs = JSON.stringify(bom).match(/"bom-ref":"[^"]+"/g) ?? []
  t.equal(new Set(refs).size, refs.length, 'references are unique')
})
