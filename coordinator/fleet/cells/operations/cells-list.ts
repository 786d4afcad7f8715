import * as z from 'zod'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { NO_SETTINGS } from '../../enrolment/cell-settings.ts'
import type { EnrolmentViews } from '../../enrolment/open.ts'
import type { FleetViews } from '../open.ts'
import { CellSummary, cellSummaryOf } from './cell-view.ts'

export default defineOperation({
  id: 'cells-list',
  description: 'List the cells of the fleet with their presence and loaded models.',
  method: 'GET',
  path: '/v1/cells',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({
    all: z.boolean().default(false).describe('Include revoked cells.'),
  }),
  output: z.object({ cells: z.array(CellSummary) }),
  run: async ({ all }, { cells, fleet, settings }: EnrolmentViews & FleetViews) => {
    const own = await settings.list()
    const shown = (await cells.list()).filter(cell => all || cell.revokedAt === undefined)
    return {
      cells: shown.map(cell =>
        cellSummaryOf(cell, fleet.cell(cell.id), own.get(cell.id) ?? NO_SETTINGS),
      ),
    }
  },
})
