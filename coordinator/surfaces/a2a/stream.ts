import type { FastifyReply } from 'fastify'
import { ShoalError } from '../../../shared/errors.ts'
import { SSE_HEADERS, sseData, sseEvent } from '../../../shared/wire/sse.ts'
import { limitFlush, PacedLines } from '../http/paced-lines.ts'
import { type A2aCall, rejectOnCallEnd } from './call.ts'

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
  const lines = new PacedLines()
  const pass = async (): Promise<void> => {
    try {
      for (let item = first; !item.done; item = await next()) {
        // a slow reader: the next event is requested after this one was read
        const read = lines.put(sseData(item.value))
        if (read !== undefined) await rejectOnCallEnd(call, read)
        if (lines.stream.destroyed) return
      }
    } catch (error) {
      const { event, value } = toErrorEvent(error)
      lines.put(event === undefined ? sseData(value) : sseEvent(event, value))
    } finally {
      leave?.()
      lines.end()
      limitFlush(reply.raw, call.signal.reason instanceof ShoalError)
      await source.return()
    }
  }
  void pass()
  return reply.headers({ ...SSE_HEADERS }).send(lines.stream)
}
