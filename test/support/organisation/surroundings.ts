import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createModuleQuestion } from '../../../daemon/discovery/module-question.ts'
import { withQuestions } from '../../../daemon/questions/with-questions.ts'
import { type DiscoveryModule, isScan } from '../../../discovery/module.ts'
import { DISCOVERY_MODULES } from '../../../discovery/modules.ts'
import type { ScanRun } from '../../../discovery/scan-run.ts'
import { ShoalError } from '../../../shared/errors.ts'
import { DEVICE_QUESTION_PATH } from '../../../shared/wire/device-question.ts'
import { MAVLINK_STATUS, MavlinkStatusAnswer } from '../../../shared/wire/mavlink-status.ts'
import { MQTT_SUBSCRIBE } from '../../../shared/wire/mqtt-bridge.ts'
import { PRINTER_STATUS, PrinterStatusAnswer } from '../../../shared/wire/printer-status.ts'
import type { CellHandler } from '../cell.ts'
import { helpersWith } from '../test-module.ts'

/*
 * What the cell of the example organisation sees: invented rows and readings in their true form,
 * because tests listen on no radio and scan no network.
 */

const FIXTURES = join(import.meta.dirname, '../../fixtures/scans')

const rowsOf = (id: string): object[] =>
  JSON.parse(readFileSync(join(FIXTURES, `${id}.json`), 'utf8'))

const runOf = ({ id }: DiscoveryModule): ScanRun =>
  async function* () {
    yield* rowsOf(id)
  }

/** The real question of a cell about modules, whose programs read fixtures. */
const moduleQuestions = () => {
  const parts = {
    config: { enabled: true, modules: {} },
    scope: { read: () => ({ entries: [] }) },
    find: async (id: string) => DISCOVERY_MODULES.filter(isScan).find(each => each.id === id),
  }
  const questions = new Map(
    DISCOVERY_MODULES.filter(isScan).map(module => {
      const helpers = helpersWith(runOf(module), module)
      return [module.id, createModuleQuestion({ ...parts, helpers })]
    }),
  )
  const [first] = questions.values()
  if (first === undefined) throw new Error('there is no scan')
  const ask: typeof first.ask = (id, input, signal, level) =>
    (questions.get(id) ?? first).ask(id, input, signal, level)
  return { prefix: first.prefix, ask }
}

const unknown = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, null]))

const readDrone = (now: number): MavlinkStatusAnswer =>
  MavlinkStatusAnswer.parse({
    ...unknown(Object.keys(MavlinkStatusAnswer.shape)),
    available: true,
    source: 'listening',
    system_id: 1,
    vehicle_type: 'quadrotor',
    autopilot: 'px4',
    armed: false,
    mode: 'hold',
    system_status: 'standby',
    battery_percent: 76,
    battery_volts: 15.4,
    satellites: 14,
    heartbeat_age_ms: 400,
    observed_at: new Date(now).toISOString(),
  })

const readPrinter = (serial: string, now: number): PrinterStatusAnswer =>
  PrinterStatusAnswer.parse({
    ...unknown(Object.keys(PrinterStatusAnswer.shape)),
    serial,
    available: true,
    writable: true,
    certificate_fingerprint: '4f'.repeat(32),
    certificate_pinned: false,
    observed_at: new Date(now).toISOString(),
    state: 'running',
    job: 'bracket.3mf',
    progress_percent: 42,
    remaining_minutes: 35,
    nozzle_celsius: 220,
    bed_celsius: 60,
  })

const messagesOf = (topic: string, now: number): object[] => [
  { kind: 'subscribed', name: 'home', host: '10.0.0.6', port: 1883 },
  {
    kind: 'message',
    message: {
      ...{ topic: topic.replace('#', 'lamp'), payload: '{"state":"ON"}', encoding: 'text' },
      ...{ bytes: 14, retained: false, at: now },
    },
  },
  { kind: 'end', ended_by: 'messages', dropped: 0 },
]

type Asked = { serial: string; topic: string }

const deviceQuestion = (now: () => number) => ({
  prefix: DEVICE_QUESTION_PATH,
  async *ask(name: string, input: unknown) {
    const { serial, topic } = input as Asked
    const answers: Record<string, () => readonly object[]> = {
      [MAVLINK_STATUS]: () => [readDrone(now())],
      [PRINTER_STATUS]: () => [readPrinter(serial, now())],
      [MQTT_SUBSCRIBE]: () => messagesOf(topic, now()),
    }
    const answer = answers[name]
    if (answer === undefined) throw new ShoalError('not_found', `unknown question ${name}`)
    for (const value of answer()) yield { type: 'item', value } as const
  },
})

/** Answers the questions of a coordinator as a cell with these surroundings does. */
export const answerAsCell = (now: () => number): CellHandler =>
  withQuestions([moduleQuestions(), deviceQuestion(now)], (_request, response) => {
    response.statusCode = 404
    response.end()
  }) as never
