import { type HttpTarget, httpProbe } from '../../../net/http-probe.ts'

/** Answer of a port; `json` is undefined for a body of another form. */
export interface PortReply {
  status: number
  text: string
  json: unknown
  /** True when a token of the kind that LLM APIs use is asked for (RFC 6750). */
  wantsBearer: boolean
}

/**
 * A port that may belong to an LLM runtime. It remembers its answers, and asks nothing more after one
 * request without an answer. Requests only read: none carries a prompt or a credential.
 */
export class RuntimePort {
  readonly target: HttpTarget
  readonly #replies = new Map<string, Promise<PortReply | undefined>>()
  #isSilent = false

  constructor(target: HttpTarget) {
    this.target = target
  }

  get(path: string): Promise<PortReply | undefined> {
    return this.#ask(path)
  }

  /** Requests a listing that is a POST. */
  post(path: string, body: object): Promise<PortReply | undefined> {
    return this.#ask(path, body)
  }

  /** JSON of an answer 200; undefined for any other. */
  async read(path: string): Promise<unknown> {
    const reply = await this.get(path)
    return reply?.status === 200 ? reply.json : undefined
  }

  #ask(path: string, body?: object): Promise<PortReply | undefined> {
    const known = this.#replies.get(path)
    if (known !== undefined) return known
    const reply = this.#isSilent ? Promise.resolve(undefined) : this.#send(path, body)
    this.#replies.set(path, reply)
    return reply
  }

  async #send(path: string, body?: object): Promise<PortReply | undefined> {
    try {
      const question = body === undefined ? { path } : { path, body }
      const { status, headers, body: bytes } = await httpProbe(this.target, question)
      const text = bytes.toString('utf8')
      const wantsBearer = /\bbearer\b/i.test(headers['www-authenticate'] ?? '')
      return { status, text, json: parseJson(text), wantsBearer }
    } catch {
      this.#isSilent = true
      return undefined
    }
  }
}

const parseJson = (text: string): unknown => {
  if (!/^\s*[[{"]/.test(text)) return undefined
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
