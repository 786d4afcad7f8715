import * as z from 'zod'
import { CellSettings } from '../../../../shared/wire/desired.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../control/open.ts'
import { CellRef } from '../cell-field.ts'
import { ConfigView, configViewOf } from './config-view.ts'

export default defineOperation({
  id: 'cells-config-set',
  description:
    'Replace the desired configuration of one cell. The cell tries it and rolls back automatically if it fails.',
  method: 'PUT',
  path: '/v1/cells/{cell_id}/config',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  input: z.strictObject({
    cell_id: CellRef,
    document: CellSettings,
    if_version: z
      .int()
      .min(0)
      .exactOptional()
      .describe(
        'Expected version of the current document; the call is refused when it differs. 0 means that no document exists.',
      ),
  }),
  output: ConfigView,
  run: async (
    { cell_id: name, document, if_version: ifVersion },
    { configs, actor }: Context & ControlViews,
  ) => {
    const seen = ifVersion === undefined ? {} : { ifVersion }
    return configViewOf(await configs.set({ scope: 'cell', name, document, ...seen }, actor))
  },
})
