import * as z from 'zod'

/* Requests to remote agents: JSON-RPC of A2A 1.0, or of 0.3 for agents that support only that. */

export interface Dialect {
  url: string
  version: '1.0' | '0.3'
}

const Card = z.object({
  supportedInterfaces: z
    .array(
      z.object({
        url: z.string(),
        protocolBinding: z.string().optional(),
        protocolVersion: z.string().optional(),
      }),
    )
    .nullish(),
  url: z.string().nullish(),
  preferredTransport: z.string().nullish(),
  additionalInterfaces: z.array(z.object({ url: z.string(), transport: z.string() })).nullish(),
})

const JSON_RPC = /^jsonrpc$/i

/**
 * Returns the protocol version and address of an agent: 1.0 if its card has an interface for it
 * (A2A 1.0, 4.4.6), else 0.3 at its `url` (A2A 0.3, 5.6.4). Undefined when the card names no
 * JSON-RPC address.
 */
export const detectDialect = (card: unknown): Dialect | undefined => {
  const parsed = Card.safeParse(card)
  if (!parsed.success) return undefined
  const { supportedInterfaces, url, preferredTransport, additionalInterfaces } = parsed.data
  const newer = (supportedInterfaces ?? []).filter(each =>
    JSON_RPC.test(each.protocolBinding ?? 'JSONRPC'),
  )
  const current = newer.find(({ protocolVersion = '1.0' }) => protocolVersion.startsWith('1.'))
  if (current !== undefined) return { url: current.url, version: '1.0' }
  const [older] = newer
  if (older !== undefined) return { url: older.url, version: '0.3' }
  if (url && JSON_RPC.test(preferredTransport ?? 'JSONRPC')) return { url, version: '0.3' }
  const other = (additionalInterfaces ?? []).find(({ transport }) => JSON_RPC.test(transport))
  return other && { url: other.url, version: '0.3' }
}

/**
 * True when an error code refuses the version: method not found (JSON-RPC 2.0) or version not
 * supported (A2A 1.0, 5.4).
 */
export const versionRefused = (code: number | undefined): boolean =>
  code === -32601 || code === -32009

export const requestOf = (version: Dialect['version'], text: string, id: string): object =>
  version === '1.0'
    ? {
        jsonrpc: '2.0',
        id,
        method: 'SendMessage',
        params: {
          message: { messageId: id, role: 'ROLE_USER', parts: [{ text }] },
          configuration: { acceptedOutputModes: MODES, returnImmediately: false },
        },
      }
    : {
        jsonrpc: '2.0',
        id,
        method: 'message/send',
        params: {
          message: {
            kind: 'message',
            messageId: id,
            role: 'user',
            parts: [{ kind: 'text', text }],
          },
          configuration: { acceptedOutputModes: MODES, blocking: true },
        },
      }

/**
 * Builds a request that reads or cancels a task (A2A 1.0, 3.1.3 and 3.1.5; A2A 0.3, 7.3 and 7.4).
 */
export const taskRequestOf = (
  version: Dialect['version'],
  verb: 'get' | 'cancel',
  taskId: string,
  id: string,
): object => ({
  jsonrpc: '2.0',
  id,
  method: TASK_METHODS[version][verb],
  params: { id: taskId, ...(verb === 'get' ? { historyLength: 1 } : {}) },
})

const TASK_METHODS = {
  '1.0': { get: 'GetTask', cancel: 'CancelTask' },
  '0.3': { get: 'tasks/get', cancel: 'tasks/cancel' },
} as const

const MODES = ['text/plain', 'application/json']
