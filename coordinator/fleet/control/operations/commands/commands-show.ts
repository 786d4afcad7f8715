import * as z from 'zod'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import { Id } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../open.ts'
import { CommandView, commandViewOf } from './command-view.ts'

export default defineOperation({
  id: 'commands-show',
  description: 'Show one command and its result.',
  method: 'GET',
  path: '/v1/commands/{command_id}',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({ command_id: Id }),
  answers: { kind: 'command' },
  output: CommandView,
  run: async ({ command_id }, { commands }: ControlViews) => {
    const command = await commands.get(command_id)
    if (command === undefined) throw createUnknownError('command', command_id)
    return commandViewOf(command)
  },
})
