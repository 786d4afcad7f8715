import { ShoalError } from '../../shared/errors.ts'
import type { Gates } from './definition.ts'
import { documentApart } from './document-apart.ts'
import { type Policy, readPolicy } from './policy.ts'

/** More rows of a failing table nobody reads at once. */
const MAX_FAULTS = 20

/**
 * The policy of a text in YAML or JSON, after its own table of tests has passed. Throws
 * `invalid_request` with what is wrong, each failing row of the table included.
 */
export const proposedPolicy = async (text: string, configured: Gates): Promise<Policy> => {
  const document = await documentApart(text)
  const read = attempt(() => readPolicy(document, configured))
  if ('policy' in read) return read.policy
  const { faults } = read
  const more = faults.length > MAX_FAULTS ? [`and ${faults.length - MAX_FAULTS} more`] : []
  throw refusal([...faults.slice(0, MAX_FAULTS), ...more].join('; '))
}

/** A value without canonical JSON has no hash. */
const attempt = <T>(read: () => T): T => {
  try {
    return read()
  } catch (cause) {
    const [line = ''] = cause instanceof RangeError ? ['it is too deep'] : String(cause).split('\n')
    throw refusal(line, cause)
  }
}

const refusal = (message: string, cause?: unknown): ShoalError =>
  new ShoalError('invalid_request', `document: ${message}`, { param: 'document', cause })
