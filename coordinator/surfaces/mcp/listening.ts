import type { ServerEventBus } from '@modelcontextprotocol/server'
import { onwardOf, rpcCode, ShoalError } from '../../../shared/errors.ts'
import { stopTimer, systemRuntime, type Timer } from '../../../shared/runtime.ts'
import { sseEvent } from '../../../shared/wire/sse.ts'
import type { Events } from '../../kernel/events/bus.ts'
import { listChangedUris, type SubscriptionReader } from './changes.ts'

/** One stream of changes, with its input and its reader. */
export interface ChangeStream {
  /** Source of the stream's changes. */
  bus: ServerEventBus
  /** The stream for its reader: nothing is generated before it is read. */
  pace(source: ReadableStream<Uint8Array>): ReadableStream<Uint8Array>
  /** Ends it with the reason, as the answer of the request that opened it. */
  end(error: ShoalError): void
}

interface ListeningParts {
  events: Pick<Events, 'subscribe'>
  listener: SubscriptionReader
  /** The resources that it is about. */
  uris: readonly string[]
  /** Id of the JSON-RPC request. */
  id: string | number
  /** A reader that reads nothing for this time is disconnected. */
  stallMs: number
  /** Runs when the reader was too slow. */
  onStalled: (error: ShoalError) => void
}

/**
 * A change only states that a resource must be read again, so at most one per resource is queued: a
 * slow reader, or a thousand cells that change at once, cost no memory.
 */
export const createListening = (parts: ListeningParts): ChangeStream => {
  const { events, listener, uris, id, stallMs, onStalled } = parts
  const waiting = new Set<string>()
  let tell: ((uri: string) => void) | undefined
  /** The reader waits and nothing is on its way. */
  let isWanted = false
  let end: ChangeStream['end'] = () => {}

  const next = (): void => {
    const [uri] = waiting
    if (!isWanted || tell === undefined || uri === undefined) return
    waiting.delete(uri)
    isWanted = false
    tell(uri)
  }

  const bus: ServerEventBus = {
    publish: () => {},
    subscribe: take => {
      tell = uri => take({ kind: 'resource_updated', uri })
      const stop = events.subscribe('shoal.', event => {
        for (const uri of listChangedUris(event, listener)) if (uris.includes(uri)) waiting.add(uri)
        next()
      })
      return () => {
        tell = undefined
        stop()
      }
    },
  }

  const pace: ChangeStream['pace'] = source => {
    const reader = source.getReader()
    let timer: Timer | undefined
    let isOver = false
    const leave = (): void => {
      isOver = true
      stopTimer(timer)
      reader.cancel().catch(() => {})
    }
    const start = (controller: Controller): void => {
      end = error => {
        if (isOver) return
        leave()
        controller.enqueue(new TextEncoder().encode(reasonOf(error, id)))
        controller.close()
      }
    }
    const stall = (): void => {
      const error = new ShoalError(
        'request_timeout',
        `the client read nothing for ${stallMs / 1000} s`,
      )
      end(error)
      onStalled(error)
    }
    const pull = async (controller: Controller): Promise<void> => {
      stopTimer(timer)
      isWanted = true
      next()
      const { done, value } = await reader.read()
      isWanted = false
      if (isOver) return
      if (done) {
        leave()
        controller.close()
        return
      }
      controller.enqueue(value)
      timer = systemRuntime.setTimeout(stall, stallMs).unref()
    }
    return new ReadableStream({ start, pull, cancel: leave }, { highWaterMark: 0 })
  }
  return { bus, pace, end: error => end(error) }
}

type Controller = ReadableStreamDefaultController<Uint8Array>

/** Error that ends a running subscription, in the form MCP uses for other requests. */
const reasonOf = (error: ShoalError, id: string | number): string => {
  const { code, message } = error
  const told = { code: rpcCode(code), message, data: { code, ...onwardOf(error) } }
  return sseEvent('message', { jsonrpc: '2.0', id, error: told })
}
