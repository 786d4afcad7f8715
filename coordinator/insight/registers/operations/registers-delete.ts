import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { RegisterViews } from '../open.ts'
import { RecordView, viewRecord } from './record-view.ts'
import { openRegister, RecordKey, RegisterName, Revision } from './register-access.ts'

export default defineOperation({
  id: 'registers-delete',
  description: 'Delete one record of a register.',
  method: 'DELETE',
  path: '/v1/registers/{register}/{record_id}',
  access: 'operator',
  effect: 'write',
  tool: false,
  input: z.strictObject({ register: RegisterName, record_id: RecordKey, revision: Revision }),
  output: RecordView,
  run: async ({ register: name, record_id, revision }, context: Context & RegisterViews) => {
    const { register, scope } = openRegister(name, context)
    const { registers, actor: by } = context
    return viewRecord(await registers.delete(register, record_id, { ...scope, by, revision }))
  },
})
