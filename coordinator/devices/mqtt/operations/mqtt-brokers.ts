import * as z from 'zod'
import { MqttBrokerFacts } from '../../../../shared/wire/mqtt-bridge.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'
import { askForBrokers } from './ask-cell-brokers.ts'

const BrokerView = MqttBrokerFacts.omit({ allow_publish: true, allow_retained: true })

export default defineOperation({
  id: 'mqtt-brokers',
  description: 'List the MQTT brokers that a cell is configured for, and whether it is connected.',
  method: 'GET',
  path: '/v1/mqtt/brokers',
  access: 'operator',
  effect: 'read',
  onCell: true,
  input: z.strictObject({}),
  output: z.object({
    data_state: DataState,
    cell_id: z.string(),
    brokers: z.array(BrokerView),
  }),
  run: async (_input, context: Context & FleetViews) => {
    const { cellId, brokers } = await askForBrokers(context)
    return { data_state: dataState(brokers.length), cell_id: cellId, brokers }
  },
})
