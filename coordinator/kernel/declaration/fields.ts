import * as z from 'zod'

/** Id of something that the coordinator keeps, as a caller sends it. */
export const Id = z.string().max(64)

/** Rows of one page of a list. */
export const pageLimit = (most = 200, preset = 50) => z.int().min(1).max(most).default(preset)

const CURSOR = 'Cursor: `next` of the previous page.'

/** Input of a list in pages, newest first. */
export const PAGE = { before: Id.exactOptional().describe(CURSOR), limit: pageLimit() }

/** Paging fields for rows that have a number in place of an id. */
export const definePageFields = (most?: number, preset?: number) => ({
  before: z.int().positive().exactOptional().describe(CURSOR),
  limit: pageLimit(most, preset),
})

/** Cursor of the next page; null after the last one. */
export const NextCursor = z.string().nullable()

/** Last row of a page that is full, where the next one begins; undefined on the last page. */
export const findCursorRow = <R>(rows: readonly R[], limit: number): R | undefined =>
  rows.length === limit ? rows.at(-1) : undefined
