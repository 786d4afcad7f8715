import * as z from 'zod'
import { type JsonSchema, jsonSchema } from '../../../kernel/declaration/json-schema.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { REGISTERS } from '../register-list.ts'

/** Names of the fields of a record, in its order. */
const listFields = (schema: JsonSchema): string[] => {
  const { properties = {}, required = [] } = schema as { properties?: object; required?: string[] }
  return Object.keys(properties).map(name => (required.includes(name) ? name : `${name}?`))
}

export default defineOperation({
  id: 'registers-kinds',
  description: 'List the registers with the schema of their records and their personal data.',
  method: 'GET',
  path: '/v1/registers',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({}),
  output: z.object({
    registers: z.array(
      z.object({
        id: z.string(),
        fields: z.array(z.string()).describe('Fields of a record; `?` marks an optional one.'),
        description: z.string(),
        roles: z.array(z.string()).nullable().describe('Null: any operator role.'),
        personal_fields: z.array(z.string()),
        person_fields: z.array(z.string()).describe('Fields that hold the id of a person.'),
        record_schema: z.record(z.string(), z.unknown()).describe('JSON Schema of a record.'),
      }),
    ),
  }),
  run: () => ({
    registers: REGISTERS.map(({ id, description, roles, personal, record }) => ({
      id,
      fields: listFields(jsonSchema(record)),
      description,
      roles: roles === undefined ? null : [...roles],
      personal_fields: [...(personal?.fields ?? [])],
      person_fields: Object.keys(personal?.persons ?? {}),
      record_schema: jsonSchema(record),
    })),
  }),
})
