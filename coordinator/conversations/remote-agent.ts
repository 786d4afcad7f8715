import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { ShoalError } from '../../shared/errors.ts'
import { allowsTarget, parseAllowed } from '../outbound/allowed.ts'
import type { Target } from '../outbound/judge.ts'
import type { Sender } from '../outbound/sender.ts'
import { backOffMs } from '../queue/back-off.ts'
import type { AgentCredentials } from './agent-credentials.ts'
import type { ConversationsConfig } from './conversations-config.ts'
import { readReply } from './remote-reply.ts'
import { createRemoteRpc, type RpcAnswer, unavailable } from './remote-rpc.ts'
import { type Dialect, dialectOf, requestOf, taskRequestOf, versionRefused } from './remote-wire.ts'

/** Agents of others, spoken to over A2A; they are sent text and nothing else. */
export interface RemoteAgents {
  /** Throws `invalid_request` for an address that would not be spoken to. */
  admit(url: string): void
  /**
   * Asks the agent of this card, and waits for the task it makes of it. Who leaves before that has
   * ended has it cancelled. Throws ShoalError.
   */
  ask(cardUrl: string, text: string, signal: AbortSignal): Promise<string>
  /** Resolves when nothing is asked or cancelled any more. */
  close(): Promise<void>
}

export interface RemoteAgentParts {
  sender: Sender
  config: Pick<ConversationsConfig, 'agents' | 'agent_answer_bytes'>
  credentials: AgentCredentials
  /** Rejects when the signal aborts. */
  wait?: (milliseconds: number, signal: AbortSignal) => Promise<unknown>
}

/** Where an agent is spoken to. */
interface Line extends Dialect {
  /** With our credential: its own card has named the address. */
  cardUrl: string
}

const POLL = { firstSeconds: 0.5, factor: 2, maxSeconds: 5 }
/** In a row; what is done meanwhile is not lost with one of them. */
const FAILED_POLLS = 3
const CANCEL_MS = 5000

export const createRemoteAgents = (parts: RemoteAgentParts): RemoteAgents => {
  const { sender, config, credentials } = parts
  const wait = parts.wait ?? ((ms, signal) => sleep(ms, undefined, { signal }))
  const allowed = config.agents.flatMap(text => parseAllowed(text) ?? [])
  const under = new Set<Promise<unknown>>()

  const admit = (url: string): Target => {
    const target = sender.judge(url)
    if (allowsTarget(allowed, target)) return target
    throw new ShoalError(
      'invalid_request',
      `agents at ${target.host}:${target.port} are not in conversations.agents`,
      { param: 'url' },
    )
  }

  const rpc = createRemoteRpc({
    ...{ sender, admit, credentials, maxAnswerBytes: config.agent_answer_bytes },
  })

  const call = (line: Line, body: object, signal: AbortSignal): Promise<RpcAnswer> =>
    rpc.call({ ...line, body }, signal)

  const say = async (line: Line, text: string, signal: AbortSignal) => {
    const send = async (to: Line) => {
      const answer = await call(to, requestOf(to.version, text, randomUUID()), signal)
      return { line: to, answer }
    }
    const first = await send(line)
    const isOlder = line.version === '1.0' && versionRefused(first.answer.error?.code)
    return isOlder ? send({ ...line, version: '0.3' }) : first
  }

  const textOf = async (line: Line, taskId: string, signal: AbortSignal): Promise<string> => {
    for (let attempt = 1, failed = 0; ; attempt++) {
      await wait(backOffMs(POLL, attempt, Math.random()), signal)
      const body = taskRequestOf(line.version, 'get', taskId, randomUUID())
      const answer = await call(line, body, signal).catch(error => {
        if (signal.aborted || ++failed === FAILED_POLLS) throw error
      })
      if (answer === undefined) continue
      failed = 0
      const reply = readReply(resultOf(answer))
      if ('text' in reply) return reply.text
    }
  }

  /** Nobody waits for it any more: as far as its agent can still be reached. */
  const cancel = async (line: Line, taskId: string): Promise<void> => {
    const body = taskRequestOf(line.version, 'cancel', taskId, randomUUID())
    await call(line, body, AbortSignal.timeout(CANCEL_MS)).catch(() => {})
  }

  const follow = async (line: Line, taskId: string, signal: AbortSignal): Promise<string> => {
    try {
      return await textOf(line, taskId, signal)
    } catch (error) {
      await cancel(line, taskId)
      throw error
    }
  }

  const ask: RemoteAgents['ask'] = async (cardUrl, text, signal) => {
    const dialect = dialectOf(await rpc.card(cardUrl, signal))
    if (dialect === undefined) throw unavailable('the card names no JSON-RPC address of A2A')
    const { line, answer } = await say({ ...dialect, cardUrl }, text, signal)
    const reply = readReply(resultOf(answer))
    return 'text' in reply ? reply.text : follow(line, reply.taskId, signal)
  }

  return {
    admit: url => void admit(url),
    ask: async (...asked) => {
      const work = ask(...asked)
      const kept = work.catch(() => {}).finally(() => under.delete(kept))
      under.add(kept)
      return work
    },
    close: async () => void (await Promise.all(under)),
  }
}

const MAX_REASON_CHARS = 300

const resultOf = ({ result, error }: RpcAnswer): unknown => {
  if (!error) return result
  const reason = error.message.slice(0, MAX_REASON_CHARS)
  throw unavailable(`the agent answered error ${error.code}: ${reason}`)
}
