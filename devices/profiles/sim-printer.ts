import * as z from 'zod'
import { CRITICAL_GATE } from '../../shared/wire/plan-part.ts'
import { FILE_NAME, GCODE_LINE } from '../links/sim/operations.ts'
import {
  createHaltVerb,
  createPlainVerb,
  EXECUTED_COUNT,
  listOperations,
} from '../links/sim/verbs.ts'
import { defineProfile, defineVerb } from '../profile.ts'

const STATES = ['idle', 'printing', 'paused']
const IDLE = { name: 'printer_idle', property: 'printer_state', allowed: ['idle'] }

const createTemperature = (title: string) => ({
  title,
  type: 'number' as const,
  unit: '°C',
  stale_after_ms: 60_000,
})

/** Printer that melts plastic layer by layer. */
export default defineProfile({
  id: 'sim-printer',
  title: 'Simulated printer',
  kind: 'printer',
  link: 'sim',
  properties: {
    printer_state: { title: 'State', type: 'text', options: STATES, stale_after_ms: 10_000 },
    job: { title: 'File of the job', type: 'text', stale_after_ms: 60_000 },
    progress_percent: {
      title: 'Progress of the job',
      type: 'number',
      unit: '%',
      min: 0,
      max: 100,
      stale_after_ms: 60_000,
    },
    nozzle_celsius: createTemperature('Nozzle temperature'),
    bed_celsius: createTemperature('Bed temperature'),
    last_line: { title: 'Last machine code', type: 'text', stale_after_ms: 60_000 },
    executed_count: EXECUTED_COUNT,
  },
  verbs: {
    'print-start': defineVerb({
      description: 'Heats up and prints a file that is on the printer.',
      params: z.strictObject({
        file: z.string().max(64).regex(FILE_NAME),
        nozzle_celsius: z.number().min(150).max(280).default(210),
        bed_celsius: z.number().min(0).max(110).default(60),
        duration_s: z.number().min(1).max(86_400).default(600),
      }),
      hazard: 'unsafe',
      isIdempotent: false,
      timeoutSeconds: 60,
      interlocks: [IDLE],
      atEstop: 'cut',
      plan: params => ({ operations: listOperations({ op: 'print', ...params }) }),
    }),
    pause: createPlainVerb(
      { op: 'pause' },
      {
        description: 'Pauses the job; the heaters stay on.',
        hazard: 'caution',
        isIdempotent: true,
        timeoutSeconds: 60,
        interlocks: [
          { name: 'job_present', property: 'printer_state', allowed: ['printing', 'paused'] },
        ],
        atEstop: 'cut',
      },
    ),
    resume: createPlainVerb(
      { op: 'resume' },
      {
        description: 'Continues a paused job.',
        hazard: 'unsafe',
        isIdempotent: true,
        timeoutSeconds: 60,
        interlocks: [{ name: 'job_paused', property: 'printer_state', allowed: ['paused'] }],
        atEstop: 'cut',
      },
    ),
    cancel: createPlainVerb(
      { op: 'cancel' },
      {
        description: 'Ends the job and turns the heaters off; the print is lost.',
        hazard: 'caution',
        isIdempotent: true,
        timeoutSeconds: 60,
        interlocks: [
          { name: 'job_present', property: 'printer_state', allowed: ['printing', 'paused'] },
        ],
        atEstop: 'cut',
      },
    ),
    'raw-gcode': defineVerb({
      description: 'Runs lines of machine code, which no check understands.',
      params: z.strictObject({
        lines: z.array(z.string().max(128).regex(GCODE_LINE)).min(1).max(16),
      }),
      hazard: 'unsafe',
      gate: CRITICAL_GATE,
      isIdempotent: false,
      timeoutSeconds: 60,
      interlocks: [IDLE],
      atEstop: 'cut',
      plan: ({ lines }) => ({
        operations: listOperations(...lines.map(line => ({ op: 'gcode' as const, line }))),
      }),
    }),
    stop: createHaltVerb('Ends the job and turns the heaters off at once.', 'cut'),
  },
  envelope: { max_state_age_ms: 10_000 },
  atEstop: 'cut',
  rest: [[{ property: 'printer_state', allowed: ['idle', 'paused'] }]],
})
