import { randomBytes } from 'node:crypto'
import * as z from 'zod'
import { KEY_BYTES } from './cipher.ts'

/**
 * Keys that encrypt single values in other tables, as the shared secret `data-keys`. The first one
 * seals, all of them open. A new key is announced before it is used, so that every coordinator can
 * open what any of them seals.
 */
const DataKeys = z.object({
  keys: z.array(z.base64()).min(1),
  /** Opens already, and seals once it is promoted. */
  announced: z.base64().exactOptional(),
})
type DataKeys = z.infer<typeof DataKeys>

const generate = (): string => randomBytes(KEY_BYTES).toString('base64')
const parse = (text: string): DataKeys => DataKeys.parse(JSON.parse(text))

/** A new key, before the keys with which an earlier version has sealed values. */
export const createDataKeys = (earlier: readonly Buffer[]): string =>
  JSON.stringify({ keys: [generate(), ...earlier.map(key => key.toString('base64'))] })

/** Keys that open values; the first one also seals. */
export const listDataKeys = (text: string): Buffer[] => {
  const { keys, announced } = parse(text)
  const all = announced === undefined ? keys : [...keys, announced]
  return all.map(key => Buffer.from(key, 'base64'))
}

/** Adds a key that only opens; one that was announced before stays. */
export const announceDataKey = (text: string): string => {
  const { keys, announced = generate() } = parse(text)
  return JSON.stringify({ keys, announced })
}

/** Makes the announced key the one that seals. */
export const promoteDataKey = (text: string): string => {
  const { keys, announced } = parse(text)
  return announced === undefined ? text : JSON.stringify({ keys: [announced, ...keys] })
}
