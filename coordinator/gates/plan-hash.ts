import { hash } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'

/** Plans are read by people: more than this nobody reads. */
export const MAX_PLAN_BYTES = 64 * 1024

/**
 * SHA-256 of a value in canonical JSON, hexadecimal: equal plans have equal hashes, whatever the
 * order of their members. Throws `invalid_request` for what has no canonical JSON.
 */
export const planHash = (plan: unknown): string => hash('sha256', canonical(plan, 'plan'))

/** Canonical JSON of bounded size; `param` names the field in the error. */
export const canonical = (value: unknown, param: string): string => {
  const text = attempt(value, param)
  if (Buffer.byteLength(text) <= MAX_PLAN_BYTES) return text
  throw new ShoalError('invalid_request', `${param} is larger than ${MAX_PLAN_BYTES} bytes`, {
    param,
  })
}

const attempt = (value: unknown, param: string): string => {
  try {
    return canonicalJson(value)
  } catch (cause) {
    throw new ShoalError('invalid_request', `${param} has no canonical JSON`, { param, cause })
  }
}
