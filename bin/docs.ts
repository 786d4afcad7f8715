import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { operations } from '../coordinator/operations/index.ts'
import { type JsonSchema, jsonSchema } from '../coordinator/operations/json-schema.ts'
import { cliOf, type Operation } from '../coordinator/operations/operation.ts'
import { skills } from '../coordinator/skills/index.ts'
import type { Skill } from '../coordinator/skills/skill.ts'

const PATH = join(resolve(import.meta.dirname, '..'), 'docs', 'skills.md')

/** docs/skills.md, made from the lists. */
export const skillsPage = (): string =>
  [
    '# Skills and operations',
    '',
    'Made by `npm run docs` from the lists that the coordinator serves; do not edit it by hand.',
    'A skill is called with `POST /v1/skills/{id}` and its input as the body, or with',
    '`shoal skill run <id>`. `GET /v1/skills/{id}` has the schemas of its input and output.',
    '',
    'Access `none` takes everybody, `key` any key, `operator` a key with an operator role (one of',
    'those named, or any). Effect `read` looks, `write` changes data of the coordinator, `gated`',
    'acts on the world and may need approval.',
    '',
    '## Skills',
    '',
    '| id | access | effect | what it does |',
    '|---|---|---|---|',
    ...skills.map(skill => row(link(skill.id), access(skill), skill.effect, skill.description)),
    '',
    ...skills.flatMap(section),
    '## Other operations',
    '',
    '| route | command | access | effect | what it does |',
    '|---|---|---|---|---|',
    ...operations.map(operation =>
      row(
        code(`${operation.method} ${operation.path}`),
        code(`shoal ${Object.values(cliOf(operation)).join(' ')}`),
        access(operation),
        operation.effect,
        operation.description,
      ),
    ),
    '',
  ].join('\n')

/** Whether docs/skills.md says what the lists say. */
export const isCurrent = (): boolean => readFileSync(PATH, 'utf8') === skillsPage()

const section = (skill: Skill): string[] => [
  `### ${skill.id}`,
  '',
  `${skill.name}. ${skill.description} Tags: ${skill.tags.join(', ')}.`,
  '',
  ...fields('input', jsonSchema(skill.input)),
  ...fields('output', jsonSchema(skill.output)),
  ...skill.examples.flatMap(example => ['```json', JSON.stringify(example), '```', '']),
]

interface ObjectSchema {
  properties?: Record<string, JsonSchema>
  required?: string[]
}

const fields = (heading: string, schema: JsonSchema): string[] => {
  const { properties = {}, required = [] } = schema as ObjectSchema
  const names = Object.keys(properties)
  if (names.length === 0) return heading === 'input' ? ['It takes no input.', ''] : []
  return [
    `| ${heading} | type | |`,
    '|---|---|---|',
    ...names.map(name => {
      const property = properties[name] ?? {}
      const needed = heading === 'input' && required.includes(name) ? 'required' : ''
      return row(code(name), typeOf(property), [needed, note(property)].filter(Boolean).join('; '))
    }),
    '',
  ]
}

const typeOf = ({ type, enum: choices, anyOf }: JsonSchema): string => {
  if (Array.isArray(choices)) return choices.map(choice => code(String(choice))).join(' ')
  if (Array.isArray(anyOf)) return anyOf.map(typeOf).join(' or ')
  return Array.isArray(type) ? type.join(' or ') : String(type ?? 'any')
}

const note = ({ description, default: preset }: JsonSchema): string =>
  [description, preset === undefined ? '' : `default ${code(JSON.stringify(preset))}`]
    .filter(Boolean)
    .join(' ')

const access = ({ access, roles }: Operation): string =>
  roles === undefined ? access : `${access}: ${roles.join(', ')}`

const code = (text: string): string => `\`${text}\``
const link = (id: string): string => `[${id}](#${id})`
const row = (...cells: string[]): string =>
  `| ${cells.map(cell => cell.replaceAll('|', '\\|').replaceAll('\n', ' ')).join(' | ')} |`

if (import.meta.main) writeFileSync(PATH, skillsPage())
