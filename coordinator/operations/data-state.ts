import * as z from 'zod'

/** `empty` when there was no data to answer from; answers never contain invented metrics. */
export const DataState = z.enum(['live', 'empty'])
export type DataState = z.infer<typeof DataState>

export const dataState = (things: number): DataState => (things === 0 ? 'empty' : 'live')
