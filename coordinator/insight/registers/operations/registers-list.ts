import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { pageLimit } from '../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { RegisterViews } from '../open.ts'
import { RecordView, viewRecord } from './record-view.ts'
import { openRegister, RecordKey, RegisterName } from './register-access.ts'

export default defineOperation({
  id: 'registers-list',
  description: 'List the records of a register of your tenant, in the order of their ids.',
  method: 'GET',
  path: '/v1/registers/{register}',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    register: RegisterName,
    after: RecordKey.exactOptional().describe('Cursor: `next` of the previous page.'),
    limit: pageLimit(1000, 100),
  }),
  output: z.object({
    data_state: DataState,
    records: z.array(RecordView),
    next: z.string().nullable(),
  }),
  run: async ({ register: name, after, limit }, context: Context & RegisterViews) => {
    const { register, scope } = openRegister(name, context)
    const { registers } = context
    const { records, next } = await registers.page(register, scope, { after, limit })
    // the state is that of the register, also on a page after its last record
    const first = records[0] ?? (await registers.page(register, scope, { limit: 1 })).records[0]
    return {
      data_state: dataState(first === undefined ? 0 : 1, first?.isExample),
      records: records.map(viewRecord),
      next: next ?? null,
    }
  },
})
