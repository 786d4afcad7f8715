import { request } from 'node:http'
import { type BoundedAnswer, readAnswer } from '../../../net/read-answer.ts'
import { NotPossibleHere } from '../../../scan-run.ts'

/** Largest answer, bytes; a host with a thousand containers sends about 3 MB. */
const MAX_BYTES = 32 * 1024 * 1024
const TIMEOUT_MS = 10_000

/** Asks a container engine at a unix socket. Only GET requests are made. */
export class EngineClient {
  readonly #socketPath: string
  readonly #signal: AbortSignal
  #prefix = ''

  constructor(socketPath: string, signal: AbortSignal) {
    this.#socketPath = socketPath
    this.#signal = signal
  }

  /** Makes all later requests with this version of the interface. */
  useVersion(version: string): void {
    this.#prefix = `/v${version}`
  }

  /** @throws Error with the code of the system, or with the status and message of the engine */
  async get(path: string): Promise<unknown> {
    const { status, text } = await this.#request(`${this.#prefix}${path}`)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text.slice(0, 200)}`)
    return JSON.parse(text)
  }

  #request(path: string): Promise<BoundedAnswer> {
    const signal = AbortSignal.any([this.#signal, AbortSignal.timeout(TIMEOUT_MS)])
    const options = { socketPath: this.#socketPath, path, signal, agent: false }
    return readAnswer(request({ ...options, headers: { host: 'localhost' } }), path, MAX_BYTES)
  }
}

/** Why an engine cannot be asked, in words that tell what to do. */
export const explainFailure = (socketPath: string, error: NodeJS.ErrnoException): string => {
  if (error.code === 'ENOENT') return `${socketPath} does not exist`
  if (error.code === 'EACCES')
    return `${socketPath} may not be opened: add the user of the daemon to the group of the engine`
  if (error.code === 'ECONNREFUSED') return `no engine listens at ${socketPath}`
  return `${socketPath}: ${error.message}`
}

/** @throws NotPossibleHere with the reasons of all sockets */
export const createNoEngine = (reasons: readonly string[]): NotPossibleHere =>
  new NotPossibleHere(`no container engine answers: ${reasons.join('; ')}`.slice(0, 500))
