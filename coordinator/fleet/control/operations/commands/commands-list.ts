import * as z from 'zod'
import { createUnknownError } from '../../../../../shared/reference-errors.ts'
import { findCursorRow, NextCursor, PAGE } from '../../../../kernel/declaration/fields.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import { CellRef } from '../../../cells/cell-field.ts'
import type { EnrolmentViews } from '../../../enrolment/open.ts'
import type { ControlViews } from '../../open.ts'
import { CommandView, commandViewOf } from './command-view.ts'

export default defineOperation({
  id: 'commands-list',
  description: 'List commands, newest first.',
  method: 'GET',
  path: '/v1/commands',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    cell_id: CellRef.exactOptional().describe('Only commands of this cell.'),
    ...PAGE,
  }),
  output: z.object({ commands: z.array(CommandView), next: NextCursor }),
  run: async ({ cell_id, before, limit }, { commands, cells }: ControlViews & EnrolmentViews) => {
    if (cell_id !== undefined && (await cells.get(cell_id)) === undefined)
      throw createUnknownError('cell', cell_id, { param: 'cell_id' })
    const found = await commands.list({
      limit,
      ...(cell_id === undefined ? {} : { cellId: cell_id }),
      ...(before === undefined ? {} : { before }),
    })
    return { commands: found.map(commandViewOf), next: findCursorRow(found, limit)?.id ?? null }
  },
})
