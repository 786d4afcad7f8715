import * as z from 'zod'
import { NO_SETTINGS } from '../../keys/cell-settings.ts'
import { defineOperation } from '../operation.ts'
import { CellSummary, summaryOf } from './cell-view.ts'

export default defineOperation({
  id: 'cells-list',
  description: 'List the cells of the fleet with their presence and loaded models.',
  method: 'GET',
  path: '/v1/cells',
  access: 'operator',
  effect: 'read',
  input: z.strictObject({}),
  output: z.object({ cells: z.array(CellSummary) }),
  run: async (_input, { cells, fleet, settings }) => {
    const own = await settings.list()
    return {
      cells: (await cells.list()).map(cell =>
        summaryOf(cell, fleet.cell(cell.id), own.get(cell.id) ?? NO_SETTINGS),
      ),
    }
  },
})
