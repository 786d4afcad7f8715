import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'
import type { Json } from '../../profile.ts'

/** Largest message, in bytes of its text. */
export const MAX_DATA_BYTES = 16 * 1024
const MAX_DEPTH = 16

/** Name of a field of a message; those of ROS 2 are narrower. */
const FIELD = /^[A-Za-z][A-Za-z0-9_]{0,127}$/
/** Characters that YAML 1.1 folds or refuses where JSON allows them as they are. */
const NOT_IN_YAML = /[\u007f-\u009f\u2028\u2029\ufeff\ufffe\uffff]/g
/** YAML 1.1 reads a number with an exponent and without a dot as text. */
const EXPONENT = /^-?\d+e/

/**
 * Text of a message for the command line tool, which reads YAML 1.1: canonical JSON, with an escape
 * for each character that YAML treats in another way.
 * @throws ShoalError invalid_request for data that YAML would change
 */
export const encodeData = (data: Record<string, Json>): string => {
  requireYamlSafe(data, 0)
  const text = toJson(data).replaceAll(
    NOT_IN_YAML,
    char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  if (Buffer.byteLength(text) > MAX_DATA_BYTES)
    throw refuse(`data is larger than ${MAX_DATA_BYTES} bytes`)
  return text
}

/** True for text that `encodeData` returns. */
export const isEncodedData = (text: string): boolean => {
  try {
    return encodeData(JSON.parse(text)) === text
  } catch {
    return false
  }
}

const toJson = (data: Json): string => {
  try {
    return canonicalJson(data)
  } catch (cause) {
    throw refuse(`data cannot be sent: ${(cause as Error).message}`)
  }
}

const requireYamlSafe = (value: Json, depth: number): void => {
  if (depth > MAX_DEPTH) throw refuse(`data is nested deeper than ${MAX_DEPTH} levels`)
  if (typeof value === 'number' && EXPONENT.test(JSON.stringify(value)))
    throw refuse(`${value} cannot be sent: YAML 1.1 reads it as text`)
  if (typeof value !== 'object' || value === null) return
  if (!Array.isArray(value))
    for (const name of Object.keys(value))
      if (!FIELD.test(name)) throw refuse(`${JSON.stringify(name)} is not a field of a message`)
  for (const member of Object.values(value)) requireYamlSafe(member, depth + 1)
}

const refuse = (message: string): ShoalError => new ShoalError('invalid_request', message)
