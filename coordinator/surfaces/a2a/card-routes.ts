import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import * as z from 'zod'
import { hasMatchingTag, PublishedDocument } from '../http/published.ts'
import type { RouteDocs } from '../http/route-docs.ts'

interface CardRouteParts {
  /** Creates the cards at the first request, when the port is known. */
  cards: () => { hybrid: object; pure: object }
  /**
   * Card at the standard path for readers that name no version; undefined if the path does not
   * exist.
   */
  standard: 'hybrid' | 'v1' | undefined
  /** Unix time, milliseconds. */
  now: () => number
}

/** The card where readers before 0.3 look for it, and where those from 0.3 on do. */
export const cardRoutes = (
  app: FastifyInstance,
  { cards, standard, now }: CardRouteParts,
): void => {
  let made: { hybrid: PublishedDocument; pure: PublishedDocument; at: number } | undefined
  const getCards = () => {
    if (made === undefined) {
      const { hybrid, pure } = cards()
      const at = Math.floor(now() / 1000) * 1000
      made = { hybrid: publish(hybrid), pure: publish(pure), at }
    }
    return made
  }
  const config = (docs: RouteDocs) => ({ config: { access: 'none' as const, docs } })
  app.get('/.well-known/agent.json', config(DOCS.hybrid), (request, reply) =>
    sendCard(request, reply, getCards().hybrid, getCards().at),
  )
  if (standard === undefined) return
  app.get('/.well-known/agent-card.json', config(DOCS.standard), (request, reply) => {
    const pure = isPure(request.headers['a2a-version'], standard)
    return sendCard(request, reply, pure ? getCards().pure : getCards().hybrid, getCards().at)
  })
}

const publish = (card: object): PublishedDocument =>
  new PublishedDocument(JSON.stringify(card), 'application/json')

/**
 * True when the reader gets the 1.0 card. Older versions get the hybrid card; without a version
 * `standard` decides.
 */
const isPure = (header: string | string[] | undefined, standard: 'hybrid' | 'v1'): boolean => {
  const version = String(header ?? '').trim()
  return version === '' ? standard === 'v1' : version.startsWith('1')
}

/** RFC 9110, section 13: the tag counts before the time. */
const sendCard = (
  request: FastifyRequest,
  reply: FastifyReply,
  card: PublishedDocument,
  at: number,
): Promise<unknown> => {
  reply.header('last-modified', new Date(at).toUTCString())
  reply.header('vary', 'A2A-Version, Accept-Encoding, Authorization')
  return card.send(request, reply, ({ headers }, etag) => {
    const tags = headers['if-none-match']
    if (tags !== undefined) return hasMatchingTag(tags, etag)
    return Date.parse(headers['if-modified-since'] ?? '') >= at
  })
}

const Card = z.looseObject({ name: z.string(), version: z.string() })

const DOCS = {
  hybrid: {
    id: 'agent-card',
    tag: 'agent',
    summary: 'The agent card: identity and skills of this agent.',
    answer: Card.extend({ url: z.string() }),
  },
  standard: {
    id: 'agent-card-negotiated',
    tag: 'agent',
    summary: 'The agent card in the form of the requested A2A-Version.',
    answer: Card,
  },
} satisfies Record<string, RouteDocs>
