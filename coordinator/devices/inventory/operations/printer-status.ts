import * as z from 'zod'
import {
  PRINTER_STATUS,
  PRINTER_STATUS_SECONDS,
  PrinterStatusAnswer,
  PrinterStatusInput,
} from '../../../../shared/wire/printer-status.ts'
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
  id: 'printer-status',
  group: 'devices',
  name: 'Printer status',
  description: 'Read the state of a Bambu Lab printer in the local network of a cell.',
  tags: ['devices', 'printer', 'physical'],
  access: 'operator',
  effect: 'read',
  openWorld: true,
  onCell: true,
  timeoutSeconds: PRINTER_STATUS_SECONDS + 2,
  input: PrinterStatusInput,
  output: z.object({ data_state: DataState, cell_id: z.string(), ...PrinterStatusAnswer.shape }),
  examples: [{ ip: '192.0.2.20', serial: '01P00A000000001', access_code: '00000000' }],
  toLoad: CONNECT_DEVICE,
  run: async (input, { fleet, cellId, signal }: Context & FleetViews) => {
    const cell = chooseDeviceCell(fleet, cellId, PRINTER_STATUS)
    const question = {
      name: PRINTER_STATUS,
      input,
      answer: PrinterStatusAnswer,
      maxBytes: MAX_ANSWER_BYTES,
      maxSeconds: PRINTER_STATUS_SECONDS,
    }
    const answer = await askDeviceQuestion(fleet, cell, question, signal)
    return { data_state: dataState(answer.available ? 1 : 0), cell_id: cell, ...answer }
  },
})
