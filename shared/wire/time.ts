import * as z from 'zod'

/** Unix milliseconds up to the last day that a calendar of JavaScript has. */
export const Time = z.int().nonnegative().max(8.64e15)
