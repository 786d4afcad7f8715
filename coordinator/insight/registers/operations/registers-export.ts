import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { FORMAT_TYPES } from '../files/file-format.ts'
import { EXPORT_FORMATS, formatRecords } from '../files/format-records.ts'
import type { RegisterViews } from '../open.ts'
import { openRegister, RecordKey, RegisterName } from './register-access.ts'

export default defineOperation({
  id: 'registers-export',
  description:
    'Export a register as CSV, YAML or JSON Lines, which an import reads again, one page per call.',
  method: 'GET',
  path: '/v1/exports/registers/{register}',
  access: 'operator',
  effect: 'read',
  tool: false,
  timeoutSeconds: 60,
  input: z.strictObject({
    register: RegisterName,
    as: z.enum(EXPORT_FORMATS).default('csv').describe('Output format; pages can be joined.'),
    after: RecordKey.exactOptional().describe('Cursor: `next` of the previous page.'),
    limit: pageLimit(5000, 1000),
  }),
  output: z.object({
    content_type: z.string(),
    text: z.string(),
    next: z.string().nullable().describe('Cursor of the next page; null at the end.'),
  }),
  text: {
    body: 'text',
    type: 'content_type',
    types: EXPORT_FORMATS.map(format => FORMAT_TYPES[format]),
    next: { field: 'next', input: 'after' },
  },
  run: async ({ register: name, as: format, after, limit }, context: Context & RegisterViews) => {
    const { register, scope } = openRegister(name, context)
    const { records, next } = await context.registers.page(register, scope, { after, limit })
    const isFirst = after === undefined
    const plain = records.map(({ record }) => record)
    return {
      content_type: `${FORMAT_TYPES[format]}; charset=utf-8`,
      text: formatRecords(plain, format, { schema: register.record, isFirst }),
      next: next ?? null,
    }
  },
})
