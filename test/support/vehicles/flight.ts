import { newId } from '../../../shared/ids.ts'
import type { ApiCaller } from '../device-fleet.ts'
import { pause } from '../wait-until.ts'
import { type Approved, listUntrue, type NameMode, type Reported } from './judge.ts'
import type { Truth, TruthSource } from './truth.ts'

type Json = Record<string, unknown>

/** One command of a flight: what was approved and said, and what was true. */
export interface FlightRow {
  step: string
  approved: Approved
  state: string
  reason: string | null
  message: string | null
  asked: unknown
  seen: Reported['seen']
  seconds: number
  /** Highest speed while the command ran, in the air and over ground. */
  flown_m_s: number
  truth: Truth | undefined
  /** Mode and arming at the end, by the second port. */
  autopilot: string
  untrue: string[]
}

interface FlightParts {
  call: ApiCaller['call']
  /** Name of the device. */
  device: string
  truth: TruthSource
  nameMode: NameMode
  /** Longest time for the end of a command. */
  limit_ms?: number
}

/** States in which a command has not ended; `unknown` may still become another one. */
const OPEN = ['queued', 'sent', 'accepted', 'executing']
const POLL_MS = 400
const TRUTH_DELAY_MS = 1000

/** Flies a device through the public API, with two persons who approve everything. */
export class Flight {
  readonly rows: FlightRow[] = []
  readonly #parts: FlightParts

  constructor(parts: FlightParts) {
    this.#parts = parts
  }

  get truth(): TruthSource {
    return this.#parts.truth
  }

  get device(): string {
    return this.#parts.device
  }

  /** Rises to an altitude: in one command where the vehicle has it, and armed before where not. */
  async climb(altitude_m: number): Promise<void> {
    const { call, device } = this.#parts
    const { body } = await call('operator', 'GET', `/v1/devices/${device}`)
    const verbs = (body.commands ?? []) as { command?: string; verb?: string }[]
    const hasLaunch = verbs.some(({ command, verb }) => (command ?? verb) === 'launch')
    if (hasLaunch)
      await this.run(`launch to ${altitude_m} m`, 'launch', { altitude_m }, { altitude_m })
    else {
      await this.run('arm', 'arm')
      await this.run(`take-off to ${altitude_m} m`, 'take-off', { altitude_m }, { altitude_m })
    }
  }

  /** Runs a command to its end, and notes what was said beside what was true. */
  async run(
    step: string,
    command: string,
    params: Json = {},
    approved: Approved = {},
  ): Promise<FlightRow> {
    const started = await this.start(command, params)
    const isHalt = ['stop', 'hold'].includes(command)
    return this.finish(step, started, { ...(isHalt && { isResting: true }), ...approved })
  }

  /** Begins a command, after all approvals; the answer may already be its end. */
  async start(command: string, params: Json = {}): Promise<StartedCommand> {
    const { call, device } = this.#parts
    const startedAt = Date.now()
    const isUrgent = ['stop', 'hold', 'land'].includes(command)
    const send = () =>
      isUrgent
        ? call('operator', 'POST', `/v1/devices/${device}/${command}`, {})
        : call(
            'operator',
            'POST',
            `/v1/devices/${device}/commands`,
            { command, params },
            newId('key'),
          )
    const first = await send()
    if (first.status !== 202) return { startedAt, answer: Promise.resolve(first) }
    await this.#approve(String(first.body.request_id))
    return { startedAt: Date.now(), answer: send() }
  }

  /** Waits for the end of a command that was started. */
  async finish(
    step: string,
    { startedAt, answer }: StartedCommand,
    approved: Approved = {},
  ): Promise<FlightRow> {
    const { status, body } = await answer
    const end = status === 200 ? await this.#waitForEnd(body) : body
    const endedAt = Date.now()
    const reported = { ...toReported(end), startedAt, endedAt }
    // the truth of that time comes by another way, and may come later
    if (reported.seen !== null) await pause(TRUTH_DELAY_MS)
    return this.note(step, reported, approved, end)
  }

  /** Adds a row of something that the service has said. */
  note(step: string, reported: Reported, approved: Approved, whole: Json = {}): FlightRow {
    const { truth, nameMode } = this.#parts
    const { state, reason, message, seen, startedAt, endedAt } = reported
    const flown = truth.track.filter(({ at }) => at >= startedAt && at <= endedAt)
    const last = truth.states.at(-1)
    const row: FlightRow = {
      ...{ step, approved, state, reason, message, seen, asked: whole.asked ?? null },
      seconds: Math.round((endedAt - startedAt) / 100) / 10,
      flown_m_s: Math.max(0, ...flown.map(({ speed_m_s }) => speed_m_s)),
      truth: truth.track.at(-1),
      autopilot: last === undefined ? '-' : `${nameMode(last.mode)}${last.isArmed ? ' armed' : ''}`,
      untrue: listUntrue(reported, approved, truth, nameMode),
    }
    this.rows.push(row)
    return row
  }

  async #approve(requestId: string): Promise<void> {
    for (const who of ['approver_a', 'approver_b'] as const)
      await this.#parts.call(who, 'POST', `/v1/gates/requests/${requestId}/approve`, {})
  }

  async #waitForEnd(body: Json): Promise<Json> {
    const { call, limit_ms = 180_000 } = this.#parts
    const deadline = Date.now() + limit_ms
    let command = body
    while (OPEN.includes(String(command.state)) && Date.now() < deadline) {
      await pause(POLL_MS)
      const { status, body: now } = await call('operator', 'GET', `/v1/commands/${body.id}`)
      if (status === 200) command = now
    }
    return command
  }
}

interface StartedCommand {
  startedAt: number
  answer: Promise<{ status: number; body: Json }>
}

/** Claims in the view of a command, or in an error. */
const toReported = (body: Json): Pick<Reported, 'state' | 'reason' | 'message' | 'seen'> => {
  const error = body.error as Json | undefined
  return {
    state: error === undefined ? String(body.state) : 'refused',
    reason: (error?.code ?? body.reason ?? null) as string | null,
    message: (error?.message ?? body.message ?? null) as string | null,
    seen: toSeen((body.seen ?? null) as SeenView | null),
  }
}

type SeenView = Omit<NonNullable<Reported['seen']>, 'at'> & { at: string | null }

/** Observation with its time in unix milliseconds. */
const toSeen = (seen: SeenView | null): Reported['seen'] =>
  seen && { ...seen, at: seen.at === null ? null : Date.parse(seen.at) }
