import * as z from 'zod'
import { defineOperation } from '../operation.ts'
import { CommandView, viewOf } from './command-view.ts'

export default defineOperation({
  id: 'commands-list',
  description: 'List commands, newest first.',
  method: 'GET',
  path: '/v1/commands',
  access: 'operator',
  effect: 'read',
  tool: false,
  input: z.strictObject({
    cell_id: z.string().max(64).exactOptional().describe('Of this cell only.'),
    before: z.string().max(64).exactOptional().describe('`next` of the page before.'),
    limit: z.int().min(1).max(200).default(50),
  }),
  output: z.object({ commands: z.array(CommandView), next: z.string().nullable() }),
  run: async ({ cell_id, before, limit }, { commands }) => {
    const found = await commands.list({
      limit,
      ...(cell_id === undefined ? {} : { cellId: cell_id }),
      ...(before === undefined ? {} : { before }),
    })
    const last = found.length === limit ? found.at(-1)?.id : undefined
    return { commands: found.map(viewOf), next: last ?? null }
  },
})
