import { ShoalError } from '../../../shared/errors.ts'

/** Error for a schema that a grammar cannot enforce. */
export const createUnsupportedError = (param: string, why: string): ShoalError =>
  new ShoalError('unsupported_parameter', `${param}: ${why}`, { param })
/** Error for an invalid schema. */
export const createSchemaError = (param: string, why: string): ShoalError =>
  new ShoalError('invalid_request', `${param}: ${why}`, { param })
