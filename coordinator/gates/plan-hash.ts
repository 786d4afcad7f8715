import { hash } from 'node:crypto'
import { canonicalJson } from '../../shared/canonical-json.ts'
import { ShoalError } from '../../shared/errors.ts'

/** Plans are read by people: more than this nobody reads. */
export const MAX_PLAN_BYTES = 64 * 1024

/**
 * SHA-256 of a value in canonical JSON, hexadecimal: equal plans have equal hashes, whatever the
 * order of their members, and others have others. Throws `invalid_request` for what has no canonical
 * JSON, and for whole numbers that are not exact here: who carries the plan out may read them exactly.
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

/** RFC 8259, section 6: only whole numbers within 2^53 are the same for everybody. */
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
