import { type ErrorCode, ShoalError } from '../../../../shared/errors.ts'

/** Rethrows an error of this code with the wording of the protocol. */
export const rewordError = async <T>(
  answer: Promise<T>,
  code: ErrorCode,
  reword: (message: string) => Error,
): Promise<T> => {
  try {
    return await answer
  } catch (error) {
    throw error instanceof ShoalError && error.code === code ? reword(error.message) : error
  }
}
