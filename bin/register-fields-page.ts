import type { Register } from '../coordinator/insight/registers/register.ts'
import { REGISTERS } from '../coordinator/insight/registers/register-list.ts'
import { type JsonSchema, jsonSchema } from '../coordinator/kernel/declaration/json-schema.ts'

const code = (text: string): string => `\`${text}\``

interface ObjectSchema {
  properties: Record<string, JsonSchema>
  required?: string[]
}

const typeOf = ({ enum: choices, type, format, items }: JsonSchema): string => {
  if (Array.isArray(choices)) return choices.map(choice => code(String(choice))).join(', ')
  if (type === 'array') return `list of ${typeOf(items as JsonSchema)}s`
  return String(format ?? type)
}

const noteOf = ({ description, default: preset }: JsonSchema): string =>
  [description, preset === undefined ? undefined : `Default ${code(String(preset))}.`]
    .filter(part => part !== undefined)
    .join(' ')

/** What an erasure of a person does to the field. */
const privacyOf = ({ personal }: Register, name: string): string => {
  const effect = personal?.persons[name]
  if (effect === 'delete') return 'person; an erasure deletes the record'
  if (effect === 'clear') return 'person; an erasure clears the field'
  return personal?.fields.includes(name) ? 'yes' : ''
}

const section = (register: Register): string[] => {
  const { id, description, roles, record } = register
  const { properties, required = [] } = jsonSchema(record) as unknown as ObjectSchema
  return [
    `## ${id}`,
    '',
    `${description} Roles: ${roles?.map(code).join(', ') ?? 'any operator role'}.`,
    '',
    '| field | type | required | personal | meaning |',
    '|---|---|---|---|---|',
    ...Object.entries(properties).map(([name, schema]) =>
      [
        `| ${code(name)}`,
        typeOf(schema),
        required.includes(name) ? 'yes' : '',
        privacyOf(register, name),
        `${noteOf(schema)} |`,
      ].join(' | '),
    ),
    '',
  ]
}

/** docs/register-fields.md: the fields of every register. */
export const formatRegisterFields = (): string =>
  [
    '# Fields of the registers',
    '',
    'Made by `npm run docs` from the declarations; do not edit it by hand.',
    '[registers.md](registers.md) describes how records are kept, imported and erased.',
    '',
    ...REGISTERS.flatMap(section),
  ].join('\n')
