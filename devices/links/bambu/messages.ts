import { hash } from 'node:crypto'
import type { DevicePlan, Json, PlanTarget } from '../../profile.ts'
import { requestTopicOf } from './topics.ts'

type Section = 'print' | 'system'

/**
 * A message to the printer. The sequence id follows from the content, so that equal calls have equal
 * plans; the printer repeats it in its answer.
 */
const createMessage = (
  section: Section,
  fields: Readonly<Record<string, Json>> & { command: string },
  { device_id, options }: PlanTarget,
): { topic: string; payload: Json } => {
  const digest = hash('sha256', JSON.stringify([device_id, fields]))
  const sequence_id = String(Number.parseInt(digest.slice(0, 7), 16))
  const topic = requestTopicOf(String(options.serial))
  return { topic, payload: { [section]: { sequence_id, ...fields } } }
}

export const planMessage = (...args: Parameters<typeof createMessage>): DevicePlan => ({
  operations: [createMessage(...args)],
})

/** A message that sets the printer in motion; when its execution is aborted, the print is stopped. */
export const planMotion = (
  fields: Readonly<Record<string, Json>> & { command: string },
  target: PlanTarget,
): DevicePlan => ({
  operations: [
    {
      ...createMessage('print', fields, target),
      at_abort: createMessage('print', STOP, target),
    },
  ],
})

export const STOP = { command: 'stop', param: '' }

export const toGcode = (lines: readonly string[]) => ({
  command: 'gcode_line',
  param: `${lines.join('\n')}\n`,
})

export const toTemperatureLines = (nozzle_celsius?: number, bed_celsius?: number): string[] => [
  ...(nozzle_celsius === undefined ? [] : [`M104 S${nozzle_celsius}`]),
  ...(bed_celsius === undefined ? [] : [`M140 S${bed_celsius}`]),
]
