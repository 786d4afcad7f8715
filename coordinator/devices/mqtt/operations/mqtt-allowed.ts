import * as z from 'zod'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { askForBrokers } from './ask-cell-brokers.ts'

export default defineOperation({
  id: 'mqtt-allowed',
  description: 'List the MQTT topics to which a cell publishes without an approval, by broker.',
  method: 'GET',
  path: '/v1/mqtt/allowed',
  access: 'operator',
  effect: 'read',
  onCell: true,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    cell_id: z.string(),
    brokers: z.array(
      z.object({
        name: z.string(),
        publish: z.array(z.string()).describe('Topic filters of ordinary messages.'),
        retained: z.array(z.string()).describe('Topic filters of retained messages.'),
      }),
    ),
  }),
  run: async (_input, context: Context & FleetViews) => {
    const { cellId, brokers } = await askForBrokers(context)
    return {
      data_state: dataState(brokers.length),
      cell_id: cellId,
      brokers: brokers.map(({ name, allow_publish, allow_retained }) => ({
        name,
        publish: allow_publish,
        retained: allow_retained,
      })),
    }
  },
})
