import * as z from 'zod'
import { createUnknownError } from '../../../../shared/reference-errors.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import { CellRef } from '../cell-field.ts'
import type { FleetViews } from '../open.ts'
import { CellDetails, detailsOf } from './cell-view.ts'

export default defineOperation({
  id: 'cells-show',
  description: 'Show all details of one cell: hardware, engines and the newest sample.',
  method: 'GET',
  path: '/v1/cells/{cell_id}',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({ cell_id: CellRef }),
  output: CellDetails,
  run: async ({ cell_id }, { cells, fleet, settings }: EnrolmentViews & FleetViews) => {
    const cell = await cells.get(cell_id)
    if (cell === undefined) throw createUnknownError('cell', cell_id)
    return detailsOf(cell, fleet.cell(cell_id), await settings.get(cell_id))
  },
})
