import * as z from 'zod'
import { limitJson } from '../../../kernel/declaration/bounded-json.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { RegisterViews } from '../open.ts'
import { RecordView, viewRecord } from './record-view.ts'
import { openRegister, parseRecord, RecordKey, RegisterName, Revision } from './register-access.ts'

const RECORD_BYTES = 64 * 1024

export default defineOperation({
  id: 'registers-put',
  description: 'Add a record to a register, or replace the one with this id.',
  method: 'PUT',
  path: '/v1/registers/{register}/{record_id}',
  access: 'operator',
  effect: 'write',
  tool: false,
  cli: { group: 'registers', verb: 'put', pairs: 'record' },
  input: z.strictObject({
    register: RegisterName,
    record_id: RecordKey,
    record: limitJson(z.record(z.string().max(64), z.unknown()), RECORD_BYTES).describe(
      'Fields of the record; the id may be left out.',
    ),
    revision: Revision,
  }),
  output: RecordView.extend({
    example_records_removed: z
      .int()
      .describe('Records of the example organisation, which the first own record removes.'),
  }),
  examples: [{ record: { name: 'Portal', kind: 'http', url: 'https://portal.example' } }],
  run: async (
    { register: name, record_id, record, revision },
    context: Context & RegisterViews,
  ) => {
    const { register, scope } = openRegister(name, context)
    const { registers, actor: by } = context
    const parsed = parseRecord(register, record_id, record)
    const stored = await registers.put(register, parsed, { ...scope, by, revision })
    return { ...viewRecord(stored), example_records_removed: stored.exampleRecordsRemoved }
  },
})
