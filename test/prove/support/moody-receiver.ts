import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

/** Share of requests that each mood answers; the others are accepted at once. */
const MOODS = { slow: 0.03, failing: 0.05, closing: 0.05, late: 0.02 }
const SLOW_MS = 1000

/** A target of webhooks that is slow, fails and closes connections at random. */
export class MoodyReceiver {
  /** Numbers of the events in the order of their first acceptance. */
  readonly accepted: number[] = []
  readonly refused = { failing: 0, closing: 0, late: 0 }
  /** Acceptances of events that were accepted before. */
  repeated = 0
  readonly #known = new Set<number>()
  readonly #server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { data } = JSON.parse(body) as { data: { number: number } }
    await this.#answer(data.number, request.socket, response)
  })
  #port = 0

  static async open(): Promise<MoodyReceiver> {
    const receiver = new MoodyReceiver()
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    receiver.#port = (receiver.#server.address() as AddressInfo).port
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`
  }

  /** Flags of a coordinator that may deliver here, and tries again soon. */
  get flags(): string[] {
    return [
      ...['--outbound-allow', `127.0.0.1:${this.#port}`, '--outbound-allow-http', 'true'],
      ...['--webhooks-retry-first-seconds', '0.1', '--outbound-target-per-minute', '6000'],
    ]
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer(number: number, socket: Socket, response: ServerResponse): Promise<void> {
    const mood = pickMood()
    if (mood === 'failing' || mood === 'closing' || mood === 'late') this.refused[mood] += 1
    if (mood === 'failing') return void response.writeHead(500).end()
    if (mood === 'closing') return void socket.destroy()
    if (mood === 'slow') await sleep(SLOW_MS)
    // a receiver that has taken the event and loses the answer gets it again
    this.#accept(number)
    if (mood === 'late') return void socket.destroy()
    response.writeHead(204).end()
  }

  #accept(number: number): void {
    if (this.#known.has(number)) this.repeated += 1
    else this.accepted.push(number)
    this.#known.add(number)
  }
}

const pickMood = (): keyof typeof MOODS | undefined => {
  let rest = Math.random()
  for (const [mood, share] of Object.entries(MOODS)) {
    if (rest < share) return mood as keyof typeof MOODS
    rest -= share
  }
  return undefined
}
