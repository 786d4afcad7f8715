import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { DEADLINE_MS } from '../../support/wait-until.ts'
import { type AcknowledgedWork, approveAny } from './acknowledged.ts'
import { send } from './recorder.ts'
import type { ReplicaSet } from './replica-set.ts'

/** Rest of a client: deliveries to one webhook go one after another. */
const REST_MS = 250
const LOOK_MS = 200
const APPROVED = 'shoal.gate.approved'

interface AcceptedEvent {
  type: string
  body: string
  deliveries: number
}

/** A target of webhooks that remembers what it has accepted. */
export class Receiver {
  readonly #server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString()
    const { id, type } = JSON.parse(body) as { id: string; type: string }
    const deliveries = (this.events.get(id)?.deliveries ?? 0) + 1
    this.events.set(id, { type, body, deliveries })
    response.writeHead(204).end()
  })
  /** Events by their id. */
  readonly events = new Map<string, AcceptedEvent>()
  #port = 0

  static async open(): Promise<Receiver> {
    const receiver = new Receiver()
    receiver.#server.listen(0, '127.0.0.1')
    await once(receiver.#server, 'listening')
    receiver.#port = (receiver.#server.address() as AddressInfo).port
    return receiver
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/`
  }

  /** Flags of a coordinator that may deliver here, and tries again soon. */
  get flags(): string[] {
    return [
      ...['--outbound-allow', `127.0.0.1:${this.#port}`, '--outbound-allow-http', 'true'],
      ...['--webhooks-retry-first-seconds', '0.5', '--webhooks-max-attempts', '20'],
      ...['--webhooks-max-pending', '100000'],
    ]
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }
}

/** Creates a webhook for events of one type; returns its id. */
export const createWebhook = async (
  set: ReplicaSet,
  { url }: Pick<Receiver, 'url'>,
  type: string,
): Promise<string> => {
  const body = { url, types: [type] }
  const made = await send(`${set.replica(0).url}/v1/webhooks`, set.keys.operator, { body })
  if (made.status !== 200) throw new Error(`no webhook: ${JSON.stringify(made.body)}`)
  return made.body.id as string
}

/**
 * Approvals whose events go to a webhook: each one that was acknowledged is delivered, perhaps several
 * times, but always as the same event.
 */
export const runDeliveries = async (
  set: ReplicaSet,
  receiver: Receiver,
): Promise<AcknowledgedWork> => {
  const acknowledged: string[] = []
  await createWebhook(set, receiver, APPROVED)
  const eventsOf = (id: string): number =>
    [...receiver.events.values()].filter(({ body }) => body.includes(id)).length
  return {
    name: 'deliveries',
    run: async () => {
      const id = await approveAny(set)
      if (id !== undefined) acknowledged.push(id)
      await sleep(REST_MS)
    },
    judge: async () => {
      const deadline = performance.now() + DEADLINE_MS
      const isMissing = (id: string): boolean => eventsOf(id) === 0
      while (acknowledged.some(isMissing) && performance.now() < deadline) await sleep(LOOK_MS)
      const counts = [...receiver.events.values()]
        .filter(({ type }) => type === APPROVED)
        .map(({ deliveries }) => deliveries)
      const again = counts.filter(count => count > 1).length
      console.log(`${counts.length} events were delivered, ${again} of them more than once`)
      return {
        acknowledged: acknowledged.length,
        lost: acknowledged.filter(isMissing).length,
        twice: acknowledged.filter(id => eventsOf(id) > 1).length,
      }
    },
  }
}
