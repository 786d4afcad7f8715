import { DAY_MS } from '../../../shared/time.ts'
import type { Ledger } from '../../kernel/store/store.ts'
import type { Observation } from '../alerts/alert-rules.ts'
import { type CommandRecord, isFinalCommandState, NO_ANSWER, openStatesUpTo } from './command.ts'
import { readDeviceCommands, readNewestSuccesses } from './command-query.ts'

/** Commands that bring a device to rest. */
const STOP_VERBS: readonly string[] = ['stop', 'hold', 'land']
/** States of a command that its cell has not carried out, as far as is known. */
const UNANSWERED = [...openStatesUpTo('sent'), 'expired' as const, 'unknown' as const]
/** A list that is older is not used: this coordinator did not lead meanwhile. */
const FRESH_MS = 10_000

interface UnconfirmedStopsParts {
  /** Ids of the cells that this coordinator knows. */
  listCells: () => Iterable<string>
  /** Time after which an open stop is unconfirmed, in milliseconds. */
  answerMs: number
  /** Unix time, milliseconds. */
  now: () => number
}

/**
 * Stops of devices that no cell has answered, read from the store, so that they outlive the
 * coordinator that sent them. One ends with the answer of its cell, with a later success of another
 * command of the device, or after a day. What a cell has answered is for the cell to watch.
 */
export class UnconfirmedStops {
  readonly #parts: UnconfirmedStopsParts
  #found: readonly CommandRecord[] = []
  #readAt = Number.NEGATIVE_INFINITY

  constructor(parts: UnconfirmedStopsParts) {
    this.#parts = parts
  }

  /** Reads the stops again; the leader calls it about once a second. */
  async look(ledger: Pick<Ledger, 'read'>): Promise<void> {
    const since = this.#parts.now() - DAY_MS
    const wanted = { verbs: STOP_VERBS, states: UNANSWERED, since }
    const stops = (await readDeviceCommands(ledger, wanted)).filter(one => this.#isUnconfirmed(one))
    const deviceIds = [...new Set(stops.flatMap(({ deviceId }) => deviceId ?? []))]
    const rests = await readNewestSuccesses(ledger, deviceIds, since)
    // it has come to rest after the stop, or to the goal of a newer command
    this.#found = stops.filter(
      ({ deviceId = '', issuedAt }) => (rests.get(deviceId) ?? Number.NEGATIVE_INFINITY) < issuedAt,
    )
    this.#readAt = this.#parts.now()
  }

  /** Findings for the alert `stop_unconfirmed`: one for each device. */
  *observe(): Generator<Observation> {
    const rule = 'stop_unconfirmed'
    const { listCells, now } = this.#parts
    if (now() - this.#readAt > FRESH_MS) {
      for (const cellId of listCells())
        yield { rule, cellId, part: undefined, state: 'hold', message: '' }
      return
    }
    const seen = new Set<string>()
    // newest first: an older stop of the device adds nothing
    for (const stop of this.#found) {
      const { cellId, deviceId: part } = stop
      const key = `${cellId} ${part}`
      if (!seen.has(key))
        yield { rule, cellId, part, state: 'bad', message: describeUnconfirmed(stop) }
      seen.add(key)
    }
  }

  #isUnconfirmed({ state, reason, issuedAt }: CommandRecord): boolean {
    const { now, answerMs } = this.#parts
    // any other reason was given by the cell, which watches the device
    if (state === 'unknown') return reason === NO_ANSWER
    return isFinalCommandState(state) || now() - issuedAt >= answerMs
  }
}

const describeUnconfirmed = ({ id, verb, deviceId, state }: CommandRecord): string =>
  `${verb} of ${deviceId} (${id}) is ${state}: its cell has not confirmed it, and the device may still move`
