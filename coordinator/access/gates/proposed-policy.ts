import { ShoalError } from '../../../shared/errors.ts'
import { readUpload } from '../../kernel/base/read-upload.ts'
import type { Gates } from './definition.ts'
import { MAX_PLAN_BYTES } from './plan-hash.ts'
import { type Policy, readPolicy } from './policy.ts'

/** Maximum number of failing tests listed in an error. */
const MAX_FAULTS = 20
/** Text of a policy with its comments, which a plan leaves out. */
const MAX_TEXT_BYTES = 4 * MAX_PLAN_BYTES

/**
 * Parses a policy in YAML or JSON and runs its table of tests. Throws `invalid_request` with the
 * faults, including each failing row of the table.
 */
export const parseProposedPolicy = async (text: string, configured: Gates): Promise<Policy> =>
  requirePolicy(await parsePolicy(text), configured)

/** YAML, of which JSON is a subset. A document too large for a plan could not be approved. */
const parsePolicy = async (text: string): Promise<unknown> => {
  const limits = { maxBytes: MAX_TEXT_BYTES }
  const document = await readUpload(text, 'document', { format: 'yaml', limits })
  const bytes = Buffer.byteLength(JSON.stringify(document) ?? '')
  if (bytes <= MAX_PLAN_BYTES) return document
  throw refusal(`it is larger than ${MAX_PLAN_BYTES} bytes`)
}

/** Throws `invalid_request` with the faults of a document. */
export const requirePolicy = (document: unknown, configured: Gates): Policy => {
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
    const [line = ''] =
      cause instanceof RangeError ? ['it is nested too deeply'] : String(cause).split('\n')
    throw refusal(line, cause)
  }
}

const refusal = (message: string, cause?: unknown): ShoalError =>
  new ShoalError('invalid_request', `document: ${message}`, { param: 'document', cause })
