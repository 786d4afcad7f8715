import type { Base } from '../../kernel/base/base.ts'
import type { OpenLeader } from '../../kernel/leader/open.ts'
import { replicaTable } from '../../kernel/replicas/replica.table.ts'
import type { Replica, Replicas } from '../../kernel/replicas/replicas.ts'
import type { Ledger, Store } from '../../kernel/store/store.ts'
import type { Cell } from './cell.ts'
import type { Fleet } from './fleet.ts'
import { isPresent } from './presence.ts'

/** A live coordinator, and what the store says about it. */
interface ReplicaState extends Replica {
  isSelf: boolean
  leads: boolean
  /** Ids of enrolled cells that are not connected to it, at most `MAX_UNCONNECTED`. */
  unconnected: readonly string[]
}

export interface ReplicaViews {
  replicas: Pick<Replicas, 'live'> & {
    /** True while this coordinator leads. */
    isLeader(): boolean
    /** Returns the live coordinators in order of id. */
    readStates(): Promise<ReplicaState[]>
  }
}

interface ReplicaStateParts
  extends Pick<Base, 'schedules'>,
    Pick<OpenLeader, 'leader' | 'readLeaderId'> {
  store: Pick<Store, 'ledger'>
  replicas: Pick<Replicas, 'id' | 'live' | 'watchCells'>
  fleet: Pick<Fleet, 'cells'>
}

const MAX_UNCONNECTED = 100
const COMPARE_SECONDS = 5

/**
 * Opens the known states of all coordinators. Where there are several, each stores which cells it
 * misses, so that any of them can name the cells that only some have.
 */
export const openReplicaStates = (parts: ReplicaStateParts): { views: ReplicaViews } => {
  const { store, replicas, leader, readLeaderId, fleet, schedules } = parts
  const { ledger } = store
  replicas.watchCells(() => hasConnectedCell(fleet))
  schedules.every('replicas.cells', COMPARE_SECONDS, async () => {
    if (replicas.live().length > 1)
      await writeUnconnected(ledger, replicas.id, listUnconnected(fleet))
  })
  const readStates = async (): Promise<ReplicaState[]> => {
    const [leaderId, unconnected] = await Promise.all([readLeaderId(), readUnconnected(ledger)])
    return replicas.live().map(replica => ({
      ...replica,
      isSelf: replica.id === replicas.id,
      leads: replica.id === leaderId,
      unconnected: unconnected.get(replica.id) ?? [],
    }))
  }
  return {
    views: {
      replicas: { live: () => replicas.live(), isLeader: () => leader.isLeader(), readStates },
    },
  }
}

/** True for a cell with its control and its data plane here. */
const isConnected = ({ presence, link }: Cell): boolean => isPresent(presence) && link !== undefined

const hasConnectedCell = (fleet: Pick<Fleet, 'cells'>): boolean => {
  for (const cell of fleet.cells()) if (isConnected(cell)) return true
  return false
}

/** Ids of the cells without a control or data plane here. */
const listUnconnected = (fleet: Pick<Fleet, 'cells'>): string[] =>
  [...fleet.cells()]
    .filter(cell => !isConnected(cell))
    .map(({ id }) => id)
    .sort()
    .slice(0, MAX_UNCONNECTED)

const writeUnconnected = async (ledger: Ledger, id: string, cellIds: string[]): Promise<void> => {
  const { write } = replicaTable.columns.unconnected_json
  const unconnected_json = write(cellIds)
  await ledger.free.write(
    trx =>
      trx
        .updateTable('replicas')
        .set({ unconnected_json })
        .where('id', '=', id)
        .where('unconnected_json', '!=', unconnected_json)
        .execute(),
    { evenFrozen: true },
  )
}

const readUnconnected = async (ledger: Ledger): Promise<Map<string, string[]>> => {
  const rows = await ledger.read.selectFrom('replicas').select(['id', 'unconnected_json']).execute()
  return new Map(rows.map(replicaTable.readSome).map(({ id, unconnected }) => [id, unconnected]))
}
