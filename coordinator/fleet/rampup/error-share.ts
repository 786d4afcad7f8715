import { countAll } from '../../kernel/store/count.ts'
import type { Records } from '../../kernel/store/store.ts'

export interface ErrorShare {
  requests: number
  failed: number
}

/** Age up to which the errors of a stage count as current: a read scans its whole usage. */
const CURRENT_MS = 15_000

interface ErrorSharesParts {
  records: Pick<Records, 'scan'>
  /** Unix time, milliseconds. */
  now: () => number
}

/** Requests on the cells of ramp-ups, and how many of them failed. */
export class ErrorShares {
  readonly #parts: ErrorSharesParts
  #last: { subject: string; at: number; share: ErrorShare } | undefined

  constructor(parts: ErrorSharesParts) {
    this.#parts = parts
  }

  /** Share since a time. It may be 15 seconds old, unless it has to be fresh. */
  async readSince(
    cellIds: readonly string[],
    from: number,
    { isFresh }: { isFresh: boolean },
  ): Promise<ErrorShare> {
    const at = this.#parts.now()
    const subject = `${from} ${cellIds.join(' ')}`
    const last = this.#last
    if (!isFresh && last?.subject === subject && at - last.at < CURRENT_MS) return last.share
    const share = await this.read(cellIds, from, at)
    this.#last = { subject, at, share }
    return share
  }

  /** Requests that ended in [from, to), in Unix milliseconds; cancelled ones are left out. */
  async read(cellIds: readonly string[], from: number, to: number): Promise<ErrorShare> {
    const rows = await this.#parts.records.scan
      .selectFrom('usage')
      .select(['status', countAll.as('requests')])
      .where('status', 'in', ['ok', 'failed'])
      .where('at', '>=', from)
      .where('at', '<', to)
      .where('cell_id', 'in', cellIds)
      .groupBy('status')
      .execute()
    const count = (status: string): number =>
      Number(rows.find(row => row.status === status)?.requests ?? 0)
    return { requests: count('ok') + count('failed'), failed: count('failed') }
  }
}
