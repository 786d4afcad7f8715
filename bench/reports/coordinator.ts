import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { readServiceEnv, readServiceFlags } from '../measure.ts'

/** Lateness of the event loop and the CPU time of its longest tick, in milliseconds. */
interface Stalls {
  max: number
  cpuMs: number
}

const SERVER = join(import.meta.dirname, '../registry/server.ts')
const STALLS = join(import.meta.dirname, '../scan/stalls.ts')

/** A coordinator in a process of its own, on a store that was filled before. */
export class BenchCoordinator {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })
  readonly #key: string
  readonly #address: string

  private constructor(
    child: ChildProcess,
    lines: AsyncIterator<string>,
    [address, key]: [address: string, key: string],
  ) {
    this.#child = child
    this.#lines = lines
    this.#address = address
    this.#key = key
  }

  static async start(stateDir: string, url: string | undefined, key: string) {
    const args = [...readServiceFlags(), '--import', STALLS, SERVER, stateDir]
    const child = spawn(process.execPath, url === undefined ? args : [...args, url], {
      env: { ...process.env, ...readServiceEnv() },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const { value, done } = await lines.next()
    if (done) throw new Error('the coordinator has ended')
    return new BenchCoordinator(child, lines, [value, key])
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Bytes of the answer. Throws for anything but 200: a refusal is quick. */
  async call(path: string, body?: object): Promise<number> {
    const headers = { authorization: `Bearer ${this.#key}`, 'content-type': 'application/json' }
    const method = body === undefined ? 'GET' : 'POST'
    const sent = request(new URL(path, this.#address), { agent: this.#agent, method, headers })
    sent.end(body === undefined ? undefined : JSON.stringify(body))
    const [response] = await once(sent, 'response')
    const text = Buffer.concat(await response.toArray()).toString()
    if (response.statusCode !== 200)
      throw new Error(`${path} answered ${response.statusCode}: ${text.slice(0, 300)}`)
    return text.length
  }

  /** Stalls of the event loop since the last time that they were taken. */
  async takeStalls(): Promise<Stalls> {
    this.#child.kill('SIGUSR2')
    const { value } = await this.#lines.next()
    return JSON.parse(value)
  }

  async stop(): Promise<void> {
    this.#agent.destroy()
    const ended = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    await ended
  }
}
