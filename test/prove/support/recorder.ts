import { setTimeout as sleep } from 'node:timers/promises'
import {
  isLinearizable,
  type SequentialModel,
  type TimedCall,
} from '../../support/linearizability.ts'

/** An answer as the histories see it; status 0 when there was none. */
interface HistoryAnswer {
  status: number
  body: Record<string, unknown>
}

/** A call with what a history needs of its answer; undefined outputs count as lost answers. */
interface RecordedCall<Input, Output> {
  subject: string
  input: Input
  /** Milliseconds by which the call may see an older state. */
  staleMs?: number
  perform: () => Promise<HistoryAnswer>
  outputOf: (answer: HistoryAnswer) => Output | undefined
}

/** Status of too many requests: the call has not happened. */
const REFUSED = 429

/** History of calls, by the subject that each is about. */
export class Recorder<State, Input, Output> {
  readonly #model: SequentialModel<State, Input, Output>
  readonly #calls = new Map<string, TimedCall<Input, Output>[]>()

  constructor(model: SequentialModel<State, Input, Output>) {
    this.#model = model
  }

  get size(): number {
    return [...this.#calls.values()].reduce((sum, calls) => sum + calls.length, 0)
  }

  /** Calls with an answer that says what has happened. */
  get answered(): number {
    return [...this.#calls.values()].flat().filter(({ output }) => output !== undefined).length
  }

  async record(call: RecordedCall<Input, Output>): Promise<HistoryAnswer> {
    const { subject, input, staleMs = 0, perform, outputOf } = call
    const calledAt = performance.now() - staleMs
    const answer = await perform()
    if (answer.status === REFUSED) return answer
    const output = outputOf(answer)
    const returnedAt = output === undefined ? Number.POSITIVE_INFINITY : performance.now()
    const calls = this.#calls.get(subject) ?? []
    calls.push({ input, output, calledAt, returnedAt })
    this.#calls.set(subject, calls)
    return answer
  }

  /** How often each call had each output, such as `use ok 12`. */
  countOutputs(): string {
    const counts = new Map<string, number>()
    for (const { input, output } of [...this.#calls.values()].flat()) {
      const text = typeof output === 'string' && output.length > 12 ? 'an id' : (output ?? 'lost')
      const name = `${input} ${text}`
      counts.set(name, (counts.get(name) ?? 0) + 1)
    }
    return [...counts].map(([name, count]) => `${name} ${count}`).join(', ')
  }

  /** Subjects whose calls could not have happened one after another. */
  findFaults(): string[] {
    return [...this.#calls]
      .filter(([, calls]) => !isLinearizable(this.#model, calls))
      .map(([subject, calls]) => `${subject}: ${JSON.stringify(calls)}`)
  }
}

/** Sends a request; status 0 when the connection failed. */
export const send = async (
  url: string,
  secret: string,
  init: { method?: string; body?: object; headers?: Record<string, string> } = {},
): Promise<HistoryAnswer> => {
  const { method = init.body === undefined ? 'GET' : 'POST', body } = init
  const type = body === undefined ? {} : { 'content-type': 'application/json' }
  const headers = { authorization: `Bearer ${secret}`, ...type, ...init.headers }
  try {
    const text = body === undefined ? null : JSON.stringify(body)
    const response = await fetch(url, { method, headers, body: text })
    const answer = await response.json().catch(() => ({}))
    return { status: response.status, body: answer as Record<string, unknown> }
  } catch {
    await sleep(20)
    return { status: 0, body: {} }
  }
}
