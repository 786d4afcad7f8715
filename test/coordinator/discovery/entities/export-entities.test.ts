import { Spec, Validation } from '@cyclonedx/cyclonedx-library'
import t from 'tap'
import type { EntityView } from '../../../../coordinator/discovery/entities/entity-query.ts'
import { exportEntities } from '../../../../coordinator/discovery/entities/export-entities.ts'
import type { ExportFormatName } from '../../../../coordinator/discovery/entities/export-formats.ts'
import { Budget } from '../../../../coordinator/kernel/budgets/budget.ts'
import { systemRuntime } from '../../../../shared/runtime.ts'

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
  key_alarms: [],
  sources: [],
  fields: {
    vendor: field('Acme'),
    firmware: field('1.2'),
    os: field('linux'),
    description: field('a server'),
    models: field(['model-a:7b']),
    ip_addresses: field(['10.0.0.1']),
  },
}
const BARE: EntityView = {
  ...ENTITY,
  entity_id: 'ent_2',
  name: null,
  device_type: 'container',
  fields: {},
}

const budget = new Budget<'key' | 'cell'>({ total: 2 ** 20, per: { key: 2 ** 19, cell: 2 ** 19 } })

/** An export of entities that are read one by one. */
const open = (format: ExportFormatName, entities: readonly EntityView[] = [ENTITY, BARE]) =>
  exportEntities(
    {
      runtime: systemRuntime,
      entityQuery: {
        async *readParts() {
          for (const entity of entities) yield { entities: [entity], bytes: 200_000 }
        },
      },
      budgets: { heldAnswers: budget },
      now: () => AT,
    },
    { format, filter: {}, keyId: 'key_1' },
  )

const write = async (format: ExportFormatName, entities?: readonly EntityView[]) => {
  let text = ''
  for await (const part of open(format, entities)) text += part
  return text
}

t.test('an export has all parts in one text', async t => {
  const ids = (list: EntityView[]) => list.map(({ entity_id }) => entity_id)
  t.strictSame(ids(JSON.parse(await write('json')).entities), ['ent_1', 'ent_2'])
  t.strictSame(JSON.parse(await write('json', [])), { entities: [] })
  const lines = (await write('jsonl')).trimEnd().split('\n')
  t.strictSame(ids(lines.map(line => JSON.parse(line))), ['ent_1', 'ent_2'])
  t.equal(await write('jsonl', []), '')
  const [head, row, bare, end] = (await write('csv')).split('\r\n')
  t.match(head, /^entity_id,name,/)
  t.match(row, /^ent_1,"'=cmd, ""x""",llm_server,high/, 'no spreadsheet runs a name')
  t.match(bare, /^ent_2,,container/)
  t.equal(end, '')
})

t.test('cells that begin like a formula are text', async t => {
  const writeName = async (name: string) => {
    const row = (await write('csv', [{ ...ENTITY, name }])).split('\r\n')[1] ?? ''
    return /^ent_1,(.*),llm_server/s.exec(row)?.[1]
  }
  for (const name of ['+1', '-1', '@sum', '＝1']) t.equal(await writeName(name), `'${name}`)
  for (const space of ['\t', '\r', '\n'])
    t.equal(await writeName(`${space}=1`), `"'${space}'=1"`, 'also where white space separates')
  t.equal(await writeName('low;=1'), `"low;'=1"`, 'also where semicolons separate')
})

t.test('an inventory is valid CycloneDX 1.6 with devices and their models', async t => {
  const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6)
  for (const entities of [[], [ENTITY], [ENTITY, BARE]])
    t.equal(await validator.validate(await write('cyclonedx', entities)), null)
  t.ok(await validator.validate('{"bomFormat":"CycloneDX","specVersion":"1.6","x":1}'))
  const bom = JSON.parse(await write('cyclonedx'))
  t.match(bom.components, [
    {
      type: 'device',
      'bom-ref': 'ent_1',
      manufacturer: { name: 'Acme' },
      components: [
        { type: 'operating-system', name: 'linux' },
        { type: 'machine-learning-model', name: 'model-a:7b' },
      ],
    },
    { type: 'container', name: 'ent_2' },
  ])
  const refs = JSON.stringify(bom).match(/"bom-ref":"[^"]+"/g) ?? []
  t.equal(new Set(refs).size, refs.length, 'references are unique')
})

t.test('an export counts for its key while it is read, and not after its reader left', async t => {
  const parts = open('jsonl')
  await parts.next()
  t.equal(budget.readUse('key', 'key_1'), 400_000)
  const other = open('jsonl')
  await t.rejects(other.next(), { code: 'rate_limited' })
  await parts.return(undefined)
  t.equal(budget.used, 0)
})
