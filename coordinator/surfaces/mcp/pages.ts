import { ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'

const PAGE_SIZE = 100

/** One page of a list that is always in the same order; throws `invalid params` on a foreign cursor. */
export const pageOf = <T>(
  all: readonly T[],
  cursor: string | undefined,
): { page: T[]; nextCursor?: string } => {
  const from = cursor === undefined ? 0 : /^\d{1,6}$/.test(cursor) ? Number(cursor) : -1
  if (from < 0 || from % PAGE_SIZE !== 0 || (from > 0 && from >= all.length))
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      'the cursor does not belong to this list',
    )
  const next = from + PAGE_SIZE
  return {
    page: all.slice(from, next),
    ...(next < all.length ? { nextCursor: String(next) } : {}),
  }
}
