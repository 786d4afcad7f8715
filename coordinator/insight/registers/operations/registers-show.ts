import * as z from 'zod'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { RegisterViews } from '../open.ts'
import { RecordView, viewRecord } from './record-view.ts'
import { openRegister, RecordKey, RegisterName } from './register-access.ts'

export default defineOperation({
  id: 'registers-show',
  description: 'Show one record of a register.',
  method: 'GET',
  path: '/v1/registers/{register}/{record_id}',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({ register: RegisterName, record_id: RecordKey }),
  output: RecordView,
  run: async ({ register: name, record_id }, context: Context & RegisterViews) => {
    const { register, scope } = openRegister(name, context)
    return viewRecord(await context.registers.get(register, record_id, scope))
  },
})
