import * as z from 'zod'
import { flag, json, optional, text, time, withDefault } from '../store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../store/define-table.ts'

/** A coordinator that serves the fleet; gone when it stops, or when it has not renewed the row. */
export const replicaTable = defineTable('replicas', {
  columns: {
    /** Id that is new at every start: `rep_…`. */
    id: text(),
    /** URL at which cells reach this coordinator and no other; absent behind a balancer. */
    address: optional(text()),
    version: text(),
    /** Unix milliseconds by the clock of the store. */
    started_at: time(),
    until: time(),
    /** Ids of enrolled cells that are not connected to it: a JSON array, not longer than is readable. */
    unconnected_json: withDefault(json(z.array(z.string())), '[]'),
    /**
     * Name for people; unlike the id it is the same after a start. Absent for an older coordinator.
     */
    name: optional(text()),
    /** Flag of a coordinator with a connected cell, as of its last renewal. */
    has_cells: withDefault(flag(), 0),
  },
  key: ['id'],
  isLive: true,
})

type StoredReplica = EntityOf<typeof replicaTable>

/** A coordinator that serves the fleet. */
export type Replica = Pick<StoredReplica, 'id' | 'name' | 'address' | 'version' | 'startedAt'>

declare module '../store/tables.ts' {
  interface LedgerTables {
    replicas: TableOf<typeof replicaTable>
  }
}
