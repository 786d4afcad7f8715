import * as z from 'zod'

/**
 * `empty` when there was no data to answer from, `example` when records of the shipped example
 * organisation were used; answers never contain invented metrics.
 */
export const DataState = z.enum(['live', 'empty', 'example'])
export type DataState = z.infer<typeof DataState>

export const dataState = (things: number, isExample = false): DataState => {
  if (things === 0) return 'empty'
  return isExample ? 'example' : 'live'
}
