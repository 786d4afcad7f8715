import type { CellLogin } from '../../../bench/fleet/simulated-cell.ts'

/** Addresses and credentials of the proof's coordinator. */
export interface AbuseTarget {
  port: number
  mqttPort: number
  /** Key of the requester. */
  key: string
  /** Cells that nobody else uses. */
  logins: readonly CellLogin[]
}

export const HOST = '127.0.0.1'
export const CHAT_MODEL = 'model-a:7b'
export const EMBEDDING_MODEL = 'embed-a'
/** Input that makes the cell answer with `LARGE_BYTES`. */
export const LARGE_INPUT = 'answer with much'
export const LARGE_BYTES = 5 * 1024 * 1024

/** A request as bytes, for clients that misbehave below HTTP. */
export const requestText = (
  { key }: Pick<AbuseTarget, 'key'>,
  path: string,
  body: object,
): string => {
  const text = JSON.stringify(body)
  return (
    `POST ${path} HTTP/1.1\r\nHost: ${HOST}\r\nAuthorization: Bearer ${key}\r\n` +
    `Content-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  )
}

export const chatBody = (content: string, stream = false): object => ({
  model: CHAT_MODEL,
  messages: [{ role: 'user', content }],
  ...(stream && { stream }),
})

export const embeddingBody = (input: string): object => ({ model: EMBEDDING_MODEL, input })
