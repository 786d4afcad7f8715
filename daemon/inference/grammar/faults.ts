import { ShoalError } from '../../../shared/errors.ts'

/** What a grammar cannot hold. */
export const unserved = (param: string, why: string): ShoalError =>
  new ShoalError('unsupported_parameter', `${param}: ${why}`, { param })
/** What is no schema. */
export const invalid = (param: string, why: string): ShoalError =>
  new ShoalError('invalid_request', `${param}: ${why}`, { param })
