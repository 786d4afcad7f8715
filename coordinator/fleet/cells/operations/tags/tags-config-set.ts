import * as z from 'zod'
import { Settings } from '../../../../../shared/wire/desired.ts'
import type { Context } from '../../../../kernel/declaration/context.ts'
import { defineOperation } from '../../../../kernel/declaration/operation.ts'
import type { ControlViews } from '../../../control/open.ts'
import type { EnrolmentViews } from '../../../enrolment/open.ts'
import type { FleetViews } from '../../open.ts'
import { tagsOf } from '../cell-view.ts'
import { ConfigView, configViewOf } from '../config-view.ts'

export default defineOperation({
  id: 'tags-config-set',
  description: 'Replace the desired configuration of all cells with a tag.',
  method: 'PUT',
  path: '/v1/tags/{tag}/config',
  access: 'operator',
  roles: ['operator_admin'],
  effect: 'write',
  tool: false,
  input: z.strictObject({
    tag: z.string().min(1).max(64),
    document: Settings,
    if_version: z
      .int()
      .min(0)
      .exactOptional()
      .describe(
        'Expected version of the current document; the call is refused when it differs. 0 means that no document exists.',
      ),
  }),
  output: ConfigView.extend({
    cells: z
      .int()
      .describe('Number of cells that have the tag now; 0 may mean that the tag is misspelt.'),
  }),
  run: async (
    { tag: name, document, if_version: ifVersion },
    context: Context & ControlViews & EnrolmentViews & FleetViews,
  ) => {
    const { configs, cells, fleet, actor } = context
    const seen = ifVersion === undefined ? {} : { ifVersion }
    const set = await configs.set({ scope: 'tag', name, document, ...seen }, actor)
    const has = (await cells.list()).filter(
      cell => cell.revokedAt === undefined && tagsOf(cell, fleet.cell(cell.id)).includes(name),
    )
    return { ...configViewOf(set), cells: has.length }
  },
})
