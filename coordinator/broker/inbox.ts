import type { Logger } from 'pino'
import type * as z from 'zod'
import { Announce } from '../../shared/wire/announce.ts'
import { Envelope, StateBody } from '../../shared/wire/envelope.ts'
import { HistoryBody, Sample } from '../../shared/wire/telemetry.ts'
import type { TopicName } from '../../shared/wire/topics.ts'
import type { Fleet } from '../fleet/fleet.ts'

export interface InboxParts {
  fleet: Pick<Fleet, 'birth' | 'state' | 'sample'>
  logger: Logger
  /** Told of every accepted birth, so that the epoch is kept beyond a restart. */
  born: (cellId: string, epoch: number) => void
}

type Handler = (cellId: string, message: Envelope) => void

/**
 * Reads what cells say. Everything is checked: JSON, envelope, sender, body. What does not fit is
 * logged and dropped; it never reaches the registry.
 */
export const createInbox = ({ fleet, logger, born }: InboxParts) => {
  const handle =
    <T extends z.ZodType>(
      schema: T,
      use: (cellId: string, epoch: number, body: z.output<T>) => void,
    ): Handler =>
    (cellId, { epoch, body }) =>
      use(cellId, epoch, schema.parse(body))

  const handlers: Partial<Record<TopicName, Handler>> = {
    birth: handle(Announce, (cellId, epoch, announce) => {
      fleet.birth(cellId, epoch, announce)
      born(cellId, epoch)
    }),
    state: handle(StateBody, (cellId, epoch, { state }) => fleet.state(cellId, epoch, state)),
    telemetry: handle(Sample, fleet.sample),
    // Late samples prove that nothing was lost; they never replace a newer one.
    history: handle(HistoryBody, (cellId, _epoch, { samples }) =>
      logger.debug({ cell: cellId, samples: samples.length }, 'late samples'),
    ),
  }

  return (name: TopicName, cellId: string, payload: Buffer): void => {
    try {
      const message = Envelope.parse(JSON.parse(payload.toString('utf8')))
      if (message.sender !== cellId) throw new Error(`sender is ${message.sender}`)
      handlers[name]?.(cellId, message)
    } catch (error) {
      const reason = (error as Error).message.slice(0, 300)
      logger.warn({ cell: cellId, topic: name, reason }, 'message dropped')
    }
  }
}
