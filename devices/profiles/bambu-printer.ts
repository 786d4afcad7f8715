import * as z from 'zod'
import { CRITICAL_GATE } from '../../shared/wire/plan-part.ts'
import {
  planMessage,
  planMotion,
  STOP,
  toGcode,
  toTemperatureLines,
} from '../links/bambu/messages.ts'
import {
  MAX_BED_CELSIUS,
  MAX_NOZZLE_CELSIUS,
  PRINTER_PROPERTIES,
} from '../links/bambu/properties.ts'
import { defineProfile, defineVerb, type Interlock } from '../profile.ts'

const isAtRest: Interlock = {
  name: 'printer_idle',
  property: 'state',
  allowed: ['idle', 'finish', 'failed'],
}

const NONE = z.strictObject({})

const COMMON = { timeoutSeconds: 15, atEstop: 'cut' } as const

export default defineProfile({
  id: 'bambu-printer',
  title: 'Bambu Lab printer',
  kind: 'printer',
  link: 'bambu',
  properties: PRINTER_PROPERTIES,
  atEstop: 'cut',
  rest: [[{ property: 'state', allowed: ['idle', 'pause', 'finish', 'failed'] }]],
  verbs: {
    stop: defineVerb({
      ...COMMON,
      description: 'Cancel the print; the heaters are switched off.',
      params: NONE,
      hazard: 'safe',
      isUrgent: true,
      isIdempotent: true,
      plan: (_params, target) => planMessage('print', STOP, target),
    }),
    pause: defineVerb({
      ...COMMON,
      description: 'Pause the print.',
      params: NONE,
      hazard: 'safe',
      isUrgent: true,
      isIdempotent: true,
      plan: (_params, target) => planMessage('print', { command: 'pause', param: '' }, target),
    }),
    resume: defineVerb({
      ...COMMON,
      description: 'Resume a paused print.',
      params: NONE,
      hazard: 'unsafe',
      isIdempotent: true,
      interlocks: [{ name: 'printer_paused', property: 'state', allowed: ['pause'] }],
      plan: (_params, target) => planMotion({ command: 'resume', param: '' }, target),
    }),
    'print-start': defineVerb({
      ...COMMON,
      description: 'Print a file that is stored on the printer.',
      params: z.strictObject({
        file: z
          .string()
          .regex(/^\w[\w .()-]{0,120}\.3mf$/)
          .describe('Name of a sliced file on the storage of the printer.'),
        plate: z.int().min(1).max(36).default(1),
        use_ams: z.boolean().default(false).describe('Take the filament from the AMS unit.'),
        level_bed: z.boolean().default(true),
      }),
      hazard: 'unsafe',
      isIdempotent: false,
      timeoutSeconds: 60,
      interlocks: [isAtRest],
      plan: ({ file, plate, use_ams, level_bed }, target) =>
        planMotion(
          {
            command: 'project_file',
            param: `Metadata/plate_${plate}.gcode`,
            url: `file:///sdcard/${encodeURIComponent(file)}`,
            subtask_name: file.replace(/\.3mf$/, ''),
            bed_leveling: level_bed,
            use_ams,
            flow_cali: false,
            vibration_cali: false,
            layer_inspect: false,
            timelapse: false,
            profile_id: '0',
            project_id: '0',
            subtask_id: '0',
            task_id: '0',
          },
          target,
        ),
    }),
    'set-temperature': defineVerb({
      ...COMMON,
      description: 'Set the target temperatures of nozzle and bed; 0 switches a heater off.',
      params: z
        .strictObject({
          nozzle_celsius: z.number().min(0).max(MAX_NOZZLE_CELSIUS).optional(),
          bed_celsius: z.number().min(0).max(MAX_BED_CELSIUS).optional(),
        })
        .refine(
          ({ nozzle_celsius, bed_celsius }) => (nozzle_celsius ?? bed_celsius) !== undefined,
          'name nozzle_celsius, bed_celsius or both',
        ),
      hazard: 'unsafe',
      isIdempotent: true,
      plan: ({ nozzle_celsius, bed_celsius }, target) =>
        planMessage('print', toGcode(toTemperatureLines(nozzle_celsius, bed_celsius)), target),
    }),
    light: defineVerb({
      ...COMMON,
      description: 'Switch the chamber light.',
      params: z.strictObject({ on: z.boolean() }),
      hazard: 'caution',
      isIdempotent: true,
      atEstop: 'none',
      plan: ({ on }, target) =>
        planMessage(
          'system',
          {
            command: 'ledctrl',
            led_node: 'chamber_light',
            led_mode: on ? 'on' : 'off',
            led_on_time: 500,
            led_off_time: 500,
            loop_times: 0,
            interval_time: 0,
          },
          target,
        ),
    }),
    gcode: defineVerb({
      ...COMMON,
      description: 'Send raw machine code, which is not checked in any way.',
      params: z.strictObject({
        lines: z
          .array(
            z
              .string()
              .max(128)
              .regex(/^[GMT]\d{1,4}(\.\d)?( [A-Z]-?\d{0,6}(\.\d{1,6})?)*$/),
          )
          .min(1)
          .max(50)
          .describe('Lines such as `G28` or `G1 Z10 F600`.'),
      }),
      hazard: 'unsafe',
      gate: CRITICAL_GATE,
      isIdempotent: false,
      interlocks: [isAtRest],
      plan: ({ lines }, target) => planMotion(toGcode(lines), target),
    }),
  },
})
