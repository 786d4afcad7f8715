import { hash } from 'node:crypto'
import { canonicalJson } from '../../../shared/canonical-json.ts'
import { ShoalError } from '../../../shared/errors.ts'

/** Maximum size of a plan; people have to read it. */
export const MAX_PLAN_BYTES = 64 * 1024

/**
 * SHA-256 of a value in canonical JSON, hexadecimal: equal plans have equal hashes, regardless of
 * the order of their members, and different plans have different ones. Throws `invalid_request` for
 * a value without canonical JSON, and for integers that are not exact here, since the executor of
 * the plan may read them exactly.
 */
export const planHash = (plan: unknown): string => {
  if (hasInexact(plan))
    throw new ShoalError(
      'invalid_request',
      'plan has a whole number beyond 2^53, where several are read as one; write it as text',
      { param: 'plan' },
    )
  return hash('sha256', canonical(plan, 'plan'))
}

/**
 * True when a value contains an integer beyond 2^53, which implementations read differently (RFC
 * 8259, section 6).
 */
const hasInexact = (value: unknown): boolean =>
  typeof value === 'object' && value !== null
    ? Object.values(value).some(hasInexact)
    : Number.isInteger(value) && !Number.isSafeInteger(value)

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
