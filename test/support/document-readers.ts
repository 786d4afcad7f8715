import { ShoalError } from '../../shared/errors.ts'

/* Readers for the tests of documents; they run in that process. */

export const readSum = ({ values }: { values: number[] }, more: number): number =>
  values.reduce((sum, value) => sum + value, more)

export const refuse = (): never => {
  throw new ShoalError('invalid_request', 'line 3: no name', { param: 'text' })
}

export const spin = (): never => {
  for (;;);
}

export const fill = (): never => {
  for (const all: number[][] = []; ; ) all.push(Array.from({ length: 100 }, (_, at) => at))
}

export const readBlindly = (document: { a: { b: string } }): string => document.a.b

/** Reader whose process dies after the answer. */
export const dieLater = (): void => {
  setImmediate(() => {
    throw new Error('died')
  })
}
