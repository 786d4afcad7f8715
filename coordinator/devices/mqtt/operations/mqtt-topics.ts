import * as z from 'zod'
import {
  MQTT_TOPICS,
  MqttTopicsAnswer,
  MqttTopicsInput,
} from '../../../../shared/wire/mqtt-bridge.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import {
  askDeviceQuestion,
  chooseDeviceCell,
} from '../../../fleet/questions/ask-device-question.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineOperation } from '../../../kernel/declaration/operation.ts'

const MAX_ANSWER_BYTES = 4 * 1024 * 1024
const ANSWER_SECONDS = 10

export default defineOperation({
  id: 'mqtt-topics',
  description: 'List the MQTT topics on which the links of a cell have received messages.',
  method: 'GET',
  path: '/v1/mqtt/topics',
  access: 'operator',
  effect: 'read',
  onCell: true,
  input: MqttTopicsInput,
  examples: [{ broker: 'home', filter: 'tele/#' }],
  output: z.object({ data_state: DataState, cell_id: z.string(), ...MqttTopicsAnswer.shape }),
  run: async (input, { fleet, cellId, signal }: Context & FleetViews) => {
    const cell = chooseDeviceCell(fleet, cellId, MQTT_TOPICS)
    const question = {
      name: MQTT_TOPICS,
      input,
      answer: MqttTopicsAnswer,
      maxBytes: MAX_ANSWER_BYTES,
      maxSeconds: ANSWER_SECONDS,
    }
    const answer = await askDeviceQuestion(fleet, cell, question, signal)
    return { data_state: dataState(answer.total), cell_id: cell, ...answer }
  },
})
