import { backOffMs, HALF_JITTER } from '../../../shared/back-off.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { readDocument } from '../../../shared/foreign/read-document.ts'
import {
  type AllowedTarget,
  allowsTarget,
  parseAllowed,
} from '../../../shared/outbound/allow-list.ts'
import type { Target } from '../../../shared/outbound/judge.ts'
import { type Runtime, sleep, timeoutSignal } from '../../../shared/runtime.ts'
import type { Sender } from '../../kernel/outbound/sender.ts'
import type { AgentCredentials } from './agent-credentials.ts'
import type { ConversationsConfig } from './conversations-config.ts'
import { readReply } from './remote-reply.ts'
import { createAgentUnavailableError, createRemoteRpc, type RpcAnswer } from './remote-rpc.ts'
import {
  type Dialect,
  detectDialect,
  requestOf,
  taskRequestOf,
  versionRefused,
} from './remote-wire.ts'

interface RemoteAgentParts {
  sender: Sender
  config: Pick<ConversationsConfig, 'agents' | 'agent_answer_bytes'>
  credentials: AgentCredentials
  runtime: Pick<Runtime, 'ids' | 'random' | 'setTimeout'>
  read?: typeof readDocument
  /** Rejects when the signal aborts. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

/** Address and protocol version under which an agent is called. */
interface Line extends Dialect {
  /** Card that named the address; the credential belongs to it. */
  cardUrl: string
}

const POLL = { firstMs: 500, maxMs: 5000, jitter: HALF_JITTER }
/**
 * Number of consecutive polls that may fail, so that one failure does not lose the work of a task.
 */
const FAILED_POLLS = 3
const CANCEL_MS = 5000

/** External agents, called over A2A; only text is sent to them. */
export class RemoteAgents {
  readonly #parts: RemoteAgentParts
  readonly #allowed: readonly AllowedTarget[]
  readonly #rpc: ReturnType<typeof createRemoteRpc>
  /** Calls and cancellations in progress. */
  readonly #pending = new Set<Promise<unknown>>()

  constructor(parts: RemoteAgentParts) {
    const { sender, config, credentials, read } = parts
    this.#parts = parts
    this.#allowed = config.agents.flatMap(text => parseAllowed(text) ?? [])
    this.#rpc = createRemoteRpc({
      sender,
      admit: url => this.admit(url),
      credentials,
      maxAnswerBytes: config.agent_answer_bytes,
      ...(read && { read }),
    })
  }

  /** Throws `invalid_request` for an address that is not allowed. */
  admit(url: string): Target {
    const target = this.#parts.sender.judge(url)
    if (allowsTarget(this.#allowed, target)) return target
    throw new ShoalError(
      'invalid_request',
      `agents at ${target.host}:${target.port} are not in conversations.agents`,
      { param: 'url' },
    )
  }

  /**
   * Sends a text to the agent of this card and waits for the resulting task. Cancels the task when
   * the caller disconnects earlier. Throws ShoalError.
   */
  ask(cardUrl: string, text: string, signal: AbortSignal): Promise<string> {
    const answer = this.#ask(cardUrl, text, signal)
    const pending = answer.catch(() => {}).finally(() => this.#pending.delete(pending))
    this.#pending.add(pending)
    return answer
  }

  /** Resolves when no call and no cancellation is in progress. */
  async close(): Promise<void> {
    await Promise.all(this.#pending)
  }

  async #ask(cardUrl: string, text: string, signal: AbortSignal): Promise<string> {
    const dialect = detectDialect(await this.#rpc.card(cardUrl, signal))
    if (dialect === undefined)
      throw createAgentUnavailableError('the card names no JSON-RPC address of A2A')
    const { line, answer } = await this.#say({ ...dialect, cardUrl }, text, signal)
    const reply = readReply(resultOf(answer))
    return 'text' in reply ? reply.text : this.#follow(line, reply.taskId, signal)
  }

  #call(line: Line, body: object, signal: AbortSignal): Promise<RpcAnswer> {
    return this.#rpc.call({ ...line, body }, signal)
  }

  async #say(line: Line, text: string, signal: AbortSignal) {
    const send = async (to: Line) => {
      const body = requestOf(to.version, text, this.#parts.runtime.ids.uuid())
      const answer = await this.#call(to, body, signal)
      return { line: to, answer }
    }
    const first = await send(line)
    const isOlder = line.version === '1.0' && versionRefused(first.answer.error?.code)
    return isOlder ? send({ ...line, version: '0.3' }) : first
  }

  async #follow(line: Line, taskId: string, signal: AbortSignal): Promise<string> {
    try {
      return await this.#poll(line, taskId, signal)
    } catch (error) {
      await this.#cancel(line, taskId)
      throw error
    }
  }

  async #poll(line: Line, taskId: string, signal: AbortSignal): Promise<string> {
    const { runtime } = this.#parts
    const wait = this.#parts.wait ?? ((ms, signal) => sleep(runtime, ms, { signal }))
    for (let attempt = 1, failed = 0; ; attempt++) {
      await wait(backOffMs(POLL, attempt - 1, runtime.random), signal)
      const body = taskRequestOf(line.version, 'get', taskId, runtime.ids.uuid())
      const answer = await this.#call(line, body, signal).catch(error => {
        if (signal.aborted || ++failed === FAILED_POLLS) throw error
      })
      if (answer === undefined) continue
      failed = 0
      const reply = readReply(resultOf(answer))
      if ('text' in reply) return reply.text
    }
  }

  /** Cancels a task on a best-effort basis: the agent may be unreachable. */
  async #cancel(line: Line, taskId: string): Promise<void> {
    const { runtime } = this.#parts
    const body = taskRequestOf(line.version, 'cancel', taskId, runtime.ids.uuid())
    await this.#call(line, body, timeoutSignal(runtime, CANCEL_MS)).catch(() => {})
  }
}

const MAX_REASON_CHARS = 300

const resultOf = ({ result, error }: RpcAnswer): unknown => {
  if (!error) return result
  const reason = error.message.slice(0, MAX_REASON_CHARS)
  throw createAgentUnavailableError(`the agent answered error ${error.code}: ${reason}`)
}
