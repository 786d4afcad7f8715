import { once } from 'node:events'
import { type ClientRequest, createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CLIENT_SWEEPS } from '../../coordinator/fleet/questions/transfers.ts'
import type { CellEngine } from '../../coordinator/fleet/routing/engine.ts'
import { cascade } from '../../coordinator/gateway/cascade/cascade.ts'
import type { ClientResponse } from '../../coordinator/gateway/dispatch/client-response.ts'
import { dispatch } from '../../coordinator/gateway/dispatch/dispatch.ts'
import type { Dispatch } from '../../coordinator/gateway/dispatch/dispatch-request.ts'
import { InnerAnswer } from '../../coordinator/surfaces/http/inner-answer.ts'
import { systemRuntime } from '../../shared/runtime.ts'
import { createAnswerMemory } from './answer-memory.ts'
import { type CellHandler, endWithUsage, type LinkedCell, linkCell } from './cell.ts'
import { type Random, randomOf } from './random.ts'
import { pause, waitUntil } from './wait-until.ts'

const KIB = 1024
const PIECE = 16 * KIB
const KEYS = ['key-a', 'key-b', 'key-c', 'key-d']
const CELLS = ['cell-a', 'cell-b', 'cell-c']
const ANSWER_BYTES = [10, 5 * KIB, 20 * KIB, 200 * KIB, 700 * KIB]
/**
 * Memory so small that the total is used up before one key or cell has all of it, and some have.
 */
const MEMORY_BYTES = 640 * KIB
const BYTES_PER_HOLDER = 512 * KIB
const OPEN_CLIENTS = 40

/** State after every request of a history has ended. */
interface HistoryEnd {
  heldBytes: number
  takenSlots: number
  refusals: number
  reclaimed: number
}

/** A cell whose answers end in every way there is, each as likely as the others. */
const createCellHandler = ({ randomBelow, pick }: Random): CellHandler => {
  const ends: CellHandler[] = [
    (_, response) => response.stream.close(2),
    () => {},
    (_, { stream }) => void setTimeout(() => stream.close(2), randomBelow(20)),
    (_, response) => void setTimeout(() => endWithUsage(response), randomBelow(30)),
    (_, response) => endWithUsage(response),
  ]
  return (incoming, response) => {
    response.on('error', () => {})
    const status = pick([200, 200, 200, 200, 400, 503])
    const isStream = randomBelow(2) === 0
    const end = pick(ends)
    if (randomBelow(5) > 0) {
      response.writeHead(status, {
        'content-type': isStream ? 'text/event-stream' : 'application/json',
      })
      for (let left = pick(ANSWER_BYTES); left > 0; left -= PIECE) {
        const text = 'x'.repeat(Math.min(left, PIECE))
        response.write(isStream ? `data: ${text}\n\n` : text)
      }
    }
    end(incoming, response)
  }
}

/**
 * Requests of random kinds, through real links, that end at random: clients leave in every phase,
 * cells reset, stall, refuse and disappear, records fail, and answers are judged by the cascade.
 */
class AnswerHistory {
  readonly #random: Random
  readonly #memory = createAnswerMemory(MEMORY_BYTES, {
    key: BYTES_PER_HOLDER,
    cell: BYTES_PER_HOLDER,
  })
  readonly #server: Server
  readonly #clients: ClientRequest[] = []
  #cells: LinkedCell[] = []
  #engines: CellEngine[] = []
  #running = 0

  constructor(seed: number) {
    this.#random = randomOf(seed)
    this.#server = createServer((_request, response) => void this.#serve(response))
  }

  async run(rounds: number): Promise<HistoryEnd> {
    this.#cells = await Promise.all(CELLS.map(id => this.#connectCell(id)))
    this.#engines = this.#cells.map(({ link }) => ({
      cellId: link.cellId,
      link,
      slots: 1000,
      inFlight: 0,
      others: 0,
      ready: true,
    }))
    this.#server.listen(0, '127.0.0.1')
    await once(this.#server, 'listening')
    for (let round = 0; round < rounds; round++) await this.#playRound()
    return this.#end()
  }

  #connectCell(id: string): Promise<LinkedCell> {
    return linkCell(id, createCellHandler(this.#random))
  }

  async #playRound(): Promise<void> {
    const { randomBelow } = this.#random
    if (randomBelow(5) === 0) this.#askWithin()
    else this.#askAsClient()
    if (randomBelow(12) === 0) this.#memory.transfers.sweep()
    if (randomBelow(60) === 0) await this.#replaceCell(randomBelow(CELLS.length))
    if (this.#clients.length > OPEN_CLIENTS) this.#clients.shift()?.destroy()
    await pause(randomBelow(6))
  }

  /** A request of a conversation, whose reader is slow and may fail or leave. */
  #askWithin(): void {
    const { randomBelow } = this.#random
    const answer = new InnerAnswer(async () => {
      await pause(randomBelow(15))
      if (randomBelow(10) === 0) throw new Error('the reader fails')
    })
    answer.on('error', () => {})
    if (randomBelow(3) === 0) setTimeout(() => answer.destroy(), randomBelow(40))
    void this.#serve(answer)
  }

  /** A client that reads, leaves after the first bytes, leaves at any time, or never reads. */
  #askAsClient(): void {
    const { randomBelow, pick } = this.#random
    const behaviour = pick(['reads', 'leaves at first', 'leaves', 'waits'])
    const { port } = this.#server.address() as AddressInfo
    const client = request({ port, host: '127.0.0.1', agent: false })
    client
      .on('error', () => {})
      .on('response', answer => {
        answer.on('error', () => {})
        if (behaviour === 'reads') answer.resume()
        if (behaviour === 'leaves at first') answer.once('data', () => client.destroy())
      })
    client.end()
    if (behaviour === 'leaves') setTimeout(() => client.destroy(), randomBelow(40))
    this.#clients.push(client)
  }

  async #replaceCell(at: number): Promise<void> {
    this.#cells[at]?.cut()
    const cell = await this.#connectCell(CELLS[at] as string)
    this.#cells[at] = cell
    if (this.#engines[at] !== undefined) this.#engines[at].link = cell.link
  }

  async #serve(response: ClientResponse): Promise<void> {
    this.#running++
    try {
      await (this.#random.randomBelow(3) === 0 ? this.#askCascade(response) : this.#ask(response))
    } catch {
      response.destroy()
    } finally {
      this.#running--
    }
  }

  #askCascade(response: ClientResponse): Promise<void> {
    return cascade({
      steps: ['small', 'medium', 'large'].map(model => ({ model, minimumConfidence: -1 })),
      ask: (_model, how) => this.#ask(response, how),
      serves: () => true,
      trail: () => {},
      now: () => 0,
    })
  }

  #ask(response: ClientResponse, how: Pick<Dispatch, 'accept' | 'quiet'> = {}) {
    const { randomBelow, pick } = this.#random
    const fails = randomBelow(8) === 0
    return dispatch({
      runtime: systemRuntime,
      path: '/',
      headers: {},
      body: Buffer.from('{}'),
      response,
      answerHeaders: {},
      stream: randomBelow(2) === 0,
      memory: this.#memory,
      keyId: pick(KEYS),
      pick: tried => this.#engines.find(({ cellId }) => !tried.has(cellId)),
      record: async () => {
        await pause(randomBelow(10))
        if (fails) throw new Error('the record fails')
      },
      ...(how.quiet !== undefined && { quiet: how.quiet }),
      ...(how.accept !== undefined && { accept: how.accept }),
    })
  }

  /** Ends all clients and cells, and waits until nothing runs any more. */
  async #end(): Promise<HistoryEnd> {
    for (const client of this.#clients) client.destroy()
    for (const cell of this.#cells) cell.cut()
    await waitUntil('every request has ended', () => {
      for (let sweep = 0; sweep <= CLIENT_SWEEPS; sweep++) this.#memory.transfers.sweep()
      return this.#running === 0
    })
    this.#server.closeAllConnections()
    this.#server.close()
    await once(this.#server, 'close')
    const { used, refusals, reclaimed } = this.#memory.budget
    return {
      heldBytes: used,
      takenSlots: this.#engines.reduce((sum, { inFlight }) => sum + inFlight, 0),
      refusals: [...refusals.values()].reduce((sum, count) => sum + count, 0),
      reclaimed,
    }
  }
}

/** Plays a history of a seed to its end. */
export const playAnswerHistory = (seed: number, rounds: number): Promise<HistoryEnd> =>
  new AnswerHistory(seed).run(rounds)
