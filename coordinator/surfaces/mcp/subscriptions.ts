import * as z from 'zod'
import { ShoalError } from '../../../shared/errors.ts'
import type { McpCaller } from './caller.ts'
import { CARD_URI, readingOf } from './resource.ts'

const MAX_RESOURCES = 32

const Listen = z.looseObject({
  id: z.union([z.string(), z.number()]),
  method: z.literal('subscriptions/listen'),
  params: z.looseObject({
    notifications: z.looseObject({ resourceSubscriptions: z.array(z.string()).optional() }),
  }),
})

/** Subscription of a request for a long-lived stream; undefined for other messages. */
export const listenOf = (body: unknown): { id: string | number; uris: string[] } | undefined => {
  const { data } = Listen.safeParse(body)
  return data && { id: data.id, uris: data.params.notifications.resourceSubscriptions ?? [] }
}

const NEVER = new AbortController().signal

/**
 * Throws the read error of a subscribed resource that the caller cannot read; otherwise the time of
 * its changes would reveal hidden content. Other messages pass.
 */
export const requireReadable = async (body: unknown, caller: McpCaller): Promise<void> => {
  const uris = listenOf(body)?.uris ?? []
  if (uris.length > MAX_RESOURCES)
    throw new ShoalError('invalid_request', `a stream can have at most ${MAX_RESOURCES} resources`)
  for (const uri of uris) {
    // it does not change while the process lives
    if (uri === CARD_URI) continue
    const reading = readingOf(uri, caller.shown.addressed)
    if (reading === undefined) throw new ShoalError('not_found', `no resource ${uri}`)
    const { operation, input } = reading
    await caller.call(operation, { read: () => ({ input }), signal: NEVER })
  }
}
