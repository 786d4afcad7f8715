import { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { ShoalError } from '../../shared/errors.ts'
import {
  SSE_HEADERS,
  SSE_KEEPALIVE,
  SSE_KEEPALIVE_MS,
  sseData,
  sseEvent,
} from '../../shared/wire/sse.ts'
import { type A2aCall, rejectOnCallEnd } from './call.ts'

/**
 * Time for the last event to be flushed; a client that does not read must not keep the connection.
 */
const FLUSH_MS = 250

/**
 * Sends the source as server-sent events. The first event is awaited before anything is sent, so
 * that a refusal is an ordinary response; a later failure, and the end of the caller's key, is the
 * last event, built by `toErrorEvent`.
 */
export const sendStream = async (
  reply: FastifyReply,
  source: AsyncGenerator<unknown, void, undefined>,
  call: A2aCall,
  toErrorEvent: (error: unknown) => { event?: string; value: unknown },
): Promise<FastifyReply> => {
  const next = () => rejectOnCallEnd(call, source.next())
  const leave = call.takePlace?.()
  const first = await next().catch(error => {
    leave?.()
    // the first event may still arrive; nothing reads the next one
    source.return().catch(() => {})
    throw error
  })
  const lines = new Readable({ read: () => resume(), highWaterMark: 64 * 1024 })
  let waiting: (() => void) | undefined
  const resume = (): void => {
    waiting?.()
    waiting = undefined
  }
  const keepalive = setInterval(() => {
    if (waiting === undefined) lines.push(SSE_KEEPALIVE)
  }, SSE_KEEPALIVE_MS)
  keepalive.unref()

  const pass = async (): Promise<void> => {
    try {
      for (let item = first; !item.done; item = await next()) {
        if (lines.destroyed) return
        if (lines.push(sseData(item.value)) || lines.destroyed) continue
        // a slow reader: the next event is requested after this one was read
        const read = new Promise<void>(resolve => {
          waiting = resolve
        })
        await rejectOnCallEnd(call, read)
      }
    } catch (error) {
      const { event, value } = toErrorEvent(error)
      if (!lines.destroyed)
        lines.push(event === undefined ? sseData(value) : sseEvent(event, value))
    } finally {
      clearInterval(keepalive)
      leave?.()
      if (!lines.destroyed) lines.push(null)
      if (call.signal.reason instanceof ShoalError)
        setTimeout(() => reply.raw.destroy(), FLUSH_MS).unref()
      await source.return()
    }
  }
  lines.once('close', resume)
  void pass()
  return reply.headers({ ...SSE_HEADERS }).send(lines)
}
