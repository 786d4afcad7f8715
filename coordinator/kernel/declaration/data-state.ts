import * as z from 'zod'

/**
 * `live` when each figure of the answer was measured or read; `partial` when `unknown` names
 * something that was not; `empty` when there was no data to answer from; `example` when records of the shipped
 * example organisation were used. Answers never contain invented figures.
 */
export const DataState = z.enum(['live', 'partial', 'empty', 'example'])
export type DataState = z.infer<typeof DataState>

export const dataState = (things: number, isExample = false): DataState => {
  if (things === 0) return 'empty'
  return isExample ? 'example' : 'live'
}
