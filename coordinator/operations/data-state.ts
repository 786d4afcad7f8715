import * as z from 'zod'

/** Whether there was anything to answer from; an answer is never filled with invented figures. */
export const DataState = z.enum(['live', 'empty'])
export type DataState = z.infer<typeof DataState>

export const dataState = (things: number): DataState => (things === 0 ? 'empty' : 'live')
