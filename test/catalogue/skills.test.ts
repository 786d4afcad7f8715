import { globSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import t from 'tap'
import { type JsonSchema, jsonSchema } from '../../coordinator/kernel/declaration/json-schema.ts'
import type { Skill } from '../../coordinator/kernel/declaration/skill.ts'
import { cardSkill } from '../../coordinator/surfaces/a2a/agent-card.ts'
import { skills } from '../../coordinator/surfaces/catalogue/skills.ts'
import { DISCOVERY_MODULES } from '../../discovery/modules.ts'

interface Parameter {
  name: string
  type: string
  required: boolean
  default?: unknown
  enum?: unknown[]
}

interface Row {
  id: string
  group: string
  has_schema: boolean
  parameters: Parameter[]
}

const root = resolve(import.meta.dirname, '..', '..')
const table: Row[] = JSON.parse(readFileSync(join(root, 'test/catalogue/skills.json'), 'utf8'))
const rows = new Map(table.map(row => [row.id, row]))

interface Published {
  properties?: Record<string, JsonSchema>
  required?: string[]
}

/** The parameters of a published schema, in the words of the table. */
const parametersOf = (schema: JsonSchema): Parameter[] => {
  const { properties = {}, required = [] } = schema as Published
  return Object.entries(properties).map(([name, property]) => ({
    name,
    type: String(property.type),
    required: required.includes(name),
    ...('default' in property ? { default: property.default } : {}),
    ...(property.enum === undefined ? {} : { enum: property.enum as unknown[] }),
  }))
}

const compareNames = (a: Parameter, b: Parameter): number => a.name.localeCompare(b.name)

t.test('the table has the 99 skills of the interface specification, each once', async t => {
  t.equal(table.length, 99)
  t.equal(rows.size, 99)
  t.equal(table.filter(row => !row.has_schema).length, 8)
})

for (const skill of skills)
  t.test(`${skill.id} matches the table`, async t => {
    const row = rows.get(skill.id)
    if (row === undefined) return t.fail('it is not in the table')
    const published = cardSkill(skill)
    t.equal('input_schema' in published, row.has_schema, 'it publishes its schema')
    if (row.has_schema)
      t.strictSame(
        parametersOf(jsonSchema(skill.input)).toSorted(compareNames),
        row.parameters.toSorted(compareNames),
      )
    t.match(skill.description, /^[A-Z].{10,}\.$/s)
    t.not(skill.tags.length, 0)
    t.not(Object.keys(jsonSchema(skill.output)).length, 0, 'its output has a schema')
    for (const example of skill.examples) t.ok(skill.input.safeParse(example).success)
  })

t.test('no skill is registered twice', async t => {
  t.equal(new Set(skills.map(skill => skill.id)).size, skills.length)
})

t.test(
  'every skill is one file with its name or a module, and every file is registered',
  async t => {
    const folder = join(root, 'coordinator')
    const files = globSync('*/*/operations/**/*.ts', { cwd: folder })
    const declared: string[] = []
    for (const path of files) {
      const { default: skill } = (await import(join(folder, path))) as { default?: Skill }
      if (skill === undefined || !('card' in skill)) continue
      t.equal(basename(path, '.ts'), skill.id, path)
      declared.push(skill.id)
    }
    const modules = DISCOVERY_MODULES.map(({ id }) => id)
    t.strictSame([...declared, ...modules].toSorted(), skills.map(skill => skill.id).toSorted())
  },
)
