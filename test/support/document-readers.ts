import { ShoalError } from '../../shared/errors.ts'

/* Readers for the tests of documents; they run in the thread. */

export const readSum = ({ values }: { values: number[] }, more: number): number =>
  values.reduce((sum, value) => sum + value, more)

export const refuse = (): never => {
  throw new ShoalError('invalid_request', 'line 3: no name', { param: 'text' })
}

export const spin = (): never => {
  for (;;);
}
