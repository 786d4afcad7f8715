import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../control/open.ts'
import { CellRef } from '../cell-field.ts'
import { CellConfigView, cellConfigViewOf } from './config-view.ts'

export default defineOperation({
  id: 'cells-config-get',
  description:
    'Show the desired configuration of a cell, the documents it comes from, and the configuration in force.',
  method: 'GET',
  path: '/v1/cells/{cell_id}/config',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ cell_id: CellRef }),
  output: CellConfigView,
  run: async ({ cell_id }, { configs }: ControlViews) =>
    cellConfigViewOf(cell_id, await configs.show(cell_id)),
})
