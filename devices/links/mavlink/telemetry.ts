import {
  ATTITUDE,
  BATTERY_STATUS,
  GLOBAL_POSITION_INT,
  GPS_RAW_INT,
  HOME_POSITION,
  SYS_STATUS,
} from './messages.ts'
import {
  EKF_STATUS_REPORT,
  ESTIMATOR_STATUS,
  EXTENDED_SYS_STATE,
  FENCE_STATUS,
  SYSTEM_TIME,
} from './status-messages.ts'
import type { Autopilot } from './vehicle-kind.ts'

/** `MAV_DATA_STREAM` of `common.xml`. */
const STREAMS = { EXTENDED_STATUS: 2, POSITION: 6, EXTRA1: 10, EXTRA3: 12 } as const

/** Stream of messages that the checks and the verbs need. */
interface WantedStream {
  messageId: number
  interval_ms: number
  /** Group of the older request; absent for a message that is in none. */
  group?: number
}

const COMMON: readonly WantedStream[] = [
  { messageId: GLOBAL_POSITION_INT.id, interval_ms: 200, group: STREAMS.POSITION },
  { messageId: EXTENDED_SYS_STATE.id, interval_ms: 500 },
  { messageId: SYS_STATUS.id, interval_ms: 1000, group: STREAMS.EXTENDED_STATUS },
  { messageId: GPS_RAW_INT.id, interval_ms: 1000, group: STREAMS.EXTENDED_STATUS },
  { messageId: SYSTEM_TIME.id, interval_ms: 1000, group: STREAMS.EXTRA3 },
  { messageId: ATTITUDE.id, interval_ms: 1000, group: STREAMS.EXTRA1 },
  { messageId: BATTERY_STATUS.id, interval_ms: 2000, group: STREAMS.EXTRA3 },
  { messageId: HOME_POSITION.id, interval_ms: 5000 },
]

const OF_AUTOPILOT: Readonly<Record<Autopilot, readonly WantedStream[]>> = {
  ardupilot: [
    { messageId: EKF_STATUS_REPORT.id, interval_ms: 1000, group: STREAMS.EXTRA3 },
    // sent only while a fence is enabled: its group would be asked for in vain
    { messageId: FENCE_STATUS.id, interval_ms: 1000 },
  ],
  px4: [{ messageId: ESTIMATOR_STATUS.id, interval_ms: 1000 }],
}

/** Ids of the messages that any autopilot is asked for. */
const WANTED_IDS: ReadonlySet<number> = new Set(
  [...COMMON, ...Object.values(OF_AUTOPILOT).flat()].map(({ messageId }) => messageId),
)

/** A stream is missing after this many intervals without a message, and a little more. */
const MISSED_INTERVALS = 3
const GRACE_MS = 1500
/** Requests of a stream without any effect, after which its group is asked for, and the wait grows. */
const PATIENCE = 3
const RETRY_MS = 2000
const LONG_RETRY_MS = 30_000

interface StreamState {
  seenAtMs: number
  askedAtMs: number
  /** Requests since the newest message. */
  attempts: number
}

interface TelemetryParts {
  /** Asks for one message in an interval (`MAV_CMD_SET_MESSAGE_INTERVAL`). */
  requestInterval: (messageId: number, interval_us: number) => void
  /** Asks for a group of messages (REQUEST_DATA_STREAM). */
  requestGroup: (group: number, rate_hz: number) => void
}

/**
 * Asks one vehicle for the messages that this cell needs, each again while it is missing: after a
 * reboot, after silence, or when somebody else has stopped it. No answer is awaited, since only the
 * messages themselves count.
 */
export class Telemetry {
  readonly #parts: TelemetryParts
  readonly #states = new Map<number, StreamState>()

  constructor(parts: TelemetryParts) {
    this.#parts = parts
  }

  /** Notes that a message has arrived; `nowMs` is monotonic. */
  note(messageId: number, nowMs: number): void {
    // a sender may have millions of ids
    if (!WANTED_IDS.has(messageId)) return
    const state = this.#stateOf(messageId)
    state.seenAtMs = nowMs
    state.attempts = 0
  }

  /** Forgets everything: the vehicle has restarted, and sends nothing until it is asked. */
  restart(): void {
    this.#states.clear()
  }

  /** Asks for what is missing. */
  request(autopilot: Autopilot, nowMs: number): void {
    for (const stream of [...COMMON, ...OF_AUTOPILOT[autopilot]])
      if (this.#isDue(stream, nowMs)) this.#ask(stream, nowMs)
  }

  #ask({ messageId, interval_ms, group }: WantedStream, nowMs: number): void {
    const state = this.#stateOf(messageId)
    state.askedAtMs = nowMs
    state.attempts += 1
    this.#parts.requestInterval(messageId, interval_ms * 1000)
    if (state.attempts > PATIENCE && group !== undefined)
      this.#parts.requestGroup(group, Math.ceil(1000 / interval_ms))
  }

  #isDue({ messageId, interval_ms }: WantedStream, nowMs: number): boolean {
    const { seenAtMs, askedAtMs, attempts } = this.#stateOf(messageId)
    const isMissing = nowMs - seenAtMs > interval_ms * MISSED_INTERVALS + GRACE_MS
    return isMissing && nowMs - askedAtMs >= (attempts > PATIENCE ? LONG_RETRY_MS : RETRY_MS)
  }

  #stateOf(messageId: number): StreamState {
    const state = this.#states.get(messageId) ?? {
      seenAtMs: Number.NEGATIVE_INFINITY,
      askedAtMs: Number.NEGATIVE_INFINITY,
      attempts: 0,
    }
    this.#states.set(messageId, state)
    return state
  }
}
