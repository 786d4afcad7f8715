import { EventEmitter } from 'node:events'
import snmp from 'net-snmp'
import module from '../../../discovery/modules/network/snmp-discover.ts'
import run from '../../../discovery/runs/network/snmp-discover.ts'
import { randomOf } from '../random.ts'
import { createScanContext } from '../scan-context.ts'
import { addResults, checkRows, type FuzzResult, NOTHING } from './fuzz-result.ts'
import { mutate } from './mutate.ts'
import { answerRequest } from './snmp-answers.ts'

/** Time for an answer: one that the library cannot read is as good as none. */
const TIMEOUT_MS = 4
/** Hosts that are read at once. */
const TOGETHER = 16

/** Sends invented answers of agents through the library and the tables of `snmp-discover`. */
export const fuzzSnmp = async (count: number, seed: number): Promise<FuzzResult> => {
  const random = randomOf(seed)
  let answers = 0
  const remove = replaceSockets(request => {
    answers++
    return mutate(answerRequest(request, random), random)
  })
  let total = NOTHING
  try {
    while (answers < count && total.fault === undefined) {
      const before = answers
      const found = await Promise.all(Array.from({ length: TOGETHER }, readHost))
      const checked = checkRows(module, found.flat())
      total = addResults(total, { heard: answers - before, ...checked })
    }
  } finally {
    remove()
  }
  return total
}

const readHost = async (): Promise<object[]> => {
  const context = createScanContext({ config: { communities: ['public'] } })
  const found: object[] = []
  for await (const row of run({ subnet: '127.0.0.1' }, context)) found.push(row)
  return found
}

/** Puts agents in the place of the network; returns what takes them out again. */
const replaceSockets = (answer: (request: Buffer) => Buffer): (() => void) => {
  const { createSession, createV3Session } = snmp
  const dgramModule = { createSocket: () => new AgentSocket(answer) }
  const more = { dgramModule, timeout: TIMEOUT_MS }
  Object.assign(snmp, {
    createSession: (target: string, community: string, options: object) =>
      createSession(target, community, { ...options, ...more }),
    createV3Session: (target: string, user: never, options: object) =>
      createV3Session(target, user, { ...options, ...more }),
  })
  return () => Object.assign(snmp, { createSession, createV3Session })
}

/** A UDP socket behind which one agent answers each request. */
class AgentSocket extends EventEmitter {
  readonly #answer: (request: Buffer) => Buffer

  constructor(answer: (request: Buffer) => Buffer) {
    super()
    this.#answer = answer
  }

  ref(): void {}
  unref(): void {}
  bind(): void {}

  close(): void {
    this.emit('close')
  }

  send(...words: unknown[]): void {
    const [request] = words as [Buffer]
    const done = words.at(-1) as (error: null) => void
    done(null)
    setImmediate(() => this.emit('message', this.#answer(request)))
  }
}
