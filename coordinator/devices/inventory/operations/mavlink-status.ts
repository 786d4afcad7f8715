import * as z from 'zod'
import {
  MAVLINK_STATUS,
  MAVLINK_STATUS_SECONDS,
  MavlinkStatusAnswer,
  MavlinkStatusInput,
} from '../../../../shared/wire/mavlink-status.ts'
import type { FleetViews } from '../../../fleet/cells/open.ts'
import {
  askDeviceQuestion,
  chooseDeviceCell,
} from '../../../fleet/questions/ask-device-question.ts'
import type { Context } from '../../../kernel/declaration/context.ts'
import { DataState, dataState } from '../../../kernel/declaration/data-state.ts'
import { defineSkill } from '../../../kernel/declaration/skill.ts'
import { CONNECT_DEVICE } from '../../../kernel/declaration/to-load.ts'

const MAX_ANSWER_BYTES = 16 * 1024

export default defineSkill({
  id: 'mavlink-status',
  group: 'devices',
  name: 'Drone status',
  description: 'Read the state of a drone or rover that sends MAVLink to a UDP port of a cell.',
  tags: ['devices', 'drone', 'physical'],
  access: 'operator',
  effect: 'read',
  openWorld: true,
  onCell: true,
  timeoutSeconds: MAVLINK_STATUS_SECONDS + 2,
  input: MavlinkStatusInput,
  output: z.object({ data_state: DataState, cell_id: z.string(), ...MavlinkStatusAnswer.shape }),
  examples: [{}, { connection: 'udp:127.0.0.1:14551' }],
  toLoad: CONNECT_DEVICE,
  run: async (input, { fleet, cellId, signal }: Context & FleetViews) => {
    const cell = chooseDeviceCell(fleet, cellId, MAVLINK_STATUS)
    const question = {
      name: MAVLINK_STATUS,
      input,
      answer: MavlinkStatusAnswer,
      maxBytes: MAX_ANSWER_BYTES,
      maxSeconds: MAVLINK_STATUS_SECONDS,
    }
    const answer = await askDeviceQuestion(fleet, cell, question, signal)
    return { data_state: dataState(answer.available ? 1 : 0), cell_id: cell, ...answer }
  },
})
