import { askApi } from '../../../net/ask-api.ts'
import { NotPossibleHere } from '../../../scan-run.ts'

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
    const url = new URL(`http://localhost${this.#prefix}${path}`)
    const place = { socketPath: this.#socketPath }
    const { status, text } = await askApi(url, {}, place, this.#signal)
    if (status !== 200) throw new Error(`${path} answered ${status}: ${text.slice(0, 200)}`)
    return JSON.parse(text)
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
