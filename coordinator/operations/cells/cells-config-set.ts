import * as z from 'zod'
import { CellSettings } from '../../../shared/wire/desired.ts'
import { Id } from '../fields.ts'
import { defineOperation } from '../operation.ts'
import { ConfigView, configViewOf } from './config-view.ts'

export default defineOperation({
  id: 'cells-config-set',
  description: 'Replace what one cell is to be set to; the cell tries it and falls back by itself.',
  method: 'PUT',
  path: '/v1/cells/{cell_id}/config',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({
    cell_id: Id,
    document: CellSettings,
    if_version: z
      .int()
      .min(0)
      .exactOptional()
      .describe('Refuse when the document is at another version; 0 means that there is none.'),
  }),
  output: ConfigView,
  run: async ({ cell_id: name, document, if_version: ifVersion }, { configs, actor }) => {
    const seen = ifVersion === undefined ? {} : { ifVersion }
    return configViewOf(await configs.set({ scope: 'cell', name, document, ...seen }, actor))
  },
})
