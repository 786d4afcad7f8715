import { hash } from 'node:crypto'
import { canonicalJson } from './canonical-json.ts'

/** SHA-256 of the canonical JSON of a value, hexadecimal. Throws TypeError as `canonicalJson` does. */
export const canonicalHash = (value: unknown): string => hash('sha256', canonicalJson(value))
