import { ShoalError } from '../../../shared/errors.ts'

/** Throws `invalid_request` for a field of the input. */
export const refuseInput = (param: string, message: string): never => {
  throw new ShoalError('invalid_request', `${param}: ${message}`, { param })
}
