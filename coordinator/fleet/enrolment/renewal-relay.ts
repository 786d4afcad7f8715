import { ShoalError } from '../../../shared/errors.ts'
import { lookUntil } from '../../../shared/look-until.ts'
import type { Wait } from '../../../shared/wait.ts'
import type { Replicas } from '../../kernel/replicas/replicas.ts'
import { bumpRevision } from '../../kernel/store/revisions.ts'
import type { Store } from '../../kernel/store/store.ts'
import type { Fleet } from '../cells/fleet.ts'
import { isPresent } from '../cells/presence.ts'
import { cellRenewalTable } from './cell-renewal.table.ts'

interface RenewalRelayParts {
  store: Pick<Store, 'ledger'>
  replicas: Pick<Replicas, 'live'>
  fleet: Pick<Fleet, 'cell'>
  /** Tells a cell that is connected here to replace its credential. */
  tell: (cellId: string) => Promise<void>
  wait: Wait
}

/** Others look for changes twice a second. */
const TAKEN_WITHIN_MS = 2000
const LOOK_MS = 100

/** Tells a cell to renew its credential, by the one coordinator of several that has it connected. */
export class RenewalRelay {
  readonly #parts: RenewalRelayParts

  constructor(parts: RenewalRelayParts) {
    this.#parts = parts
  }

  /** Throws `cell_unavailable` when there is no coordinator that could have the cell connected. */
  requireReachable(cellId: string): void {
    if (!this.#isHere(cellId) && this.#parts.replicas.live().length < 2)
      throw createUnavailableError(cellId)
  }

  /** Throws `cell_unavailable` when no coordinator has the cell connected. */
  async request(cellId: string): Promise<void> {
    this.requireReachable(cellId)
    if (this.#isHere(cellId)) return this.#parts.tell(cellId)
    if (!(await this.#requestElsewhere(cellId))) throw createUnavailableError(cellId)
  }

  /** Tells the cells that are connected here and that other coordinators were asked to tell. */
  async serve(): Promise<void> {
    const { store, replicas } = this.#parts
    if (replicas.live().length < 2) return
    const rows = await store.ledger.read.selectFrom('cell_renewals').select('cell_id').execute()
    for (const { cell_id } of rows)
      if (this.#isHere(cell_id) && (await this.#remove(cell_id))) await this.#parts.tell(cell_id)
  }

  #isHere(cellId: string): boolean {
    return isPresent(this.#parts.fleet.cell(cellId)?.presence ?? 'unknown')
  }

  async #requestElsewhere(cellId: string): Promise<boolean> {
    const { store, wait } = this.#parts
    const { ledger } = store
    await ledger.sealed.write(async trx => {
      const row = cellRenewalTable.write({ cellId, askedAt: await ledger.nowMs(trx) })
      await trx
        .insertInto('cell_renewals')
        .values(row)
        .onConflict(conflict => conflict.column('cell_id').doUpdateSet(row))
        .execute()
      await bumpRevision(trx, 'cells')
    })
    const { signal } = new AbortController()
    const look = async () => ((await this.#isPending(cellId)) ? undefined : 'taken')
    const limits = { everyMs: LOOK_MS, timeoutMs: TAKEN_WITHIN_MS, signal, wait }
    if ((await lookUntil(look, limits)) !== undefined) return true
    return !(await this.#remove(cellId))
  }

  async #isPending(cellId: string): Promise<boolean> {
    const { read } = this.#parts.store.ledger
    const query = read.selectFrom('cell_renewals').select('cell_id').where('cell_id', '=', cellId)
    return (await query.executeTakeFirst()) !== undefined
  }

  /** True for the one caller that has removed the request. */
  #remove(cellId: string): Promise<boolean> {
    return this.#parts.store.ledger.free.write(async trx => {
      const query = trx.deleteFrom('cell_renewals').where('cell_id', '=', cellId)
      return (await query.executeTakeFirst()).numDeletedRows > 0n
    })
  }
}

const createUnavailableError = (cellId: string): ShoalError =>
  new ShoalError('cell_unavailable', `${cellId} is not connected`)
