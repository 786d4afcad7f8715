import type { AgentTables } from './agent-tables.ts'
import type { AuditTables } from './audit-tables.ts'
import type { CellTables } from './cell-tables.ts'
import type { ConversationTables } from './conversation-tables.ts'
import type { DeliveryTables } from './delivery-tables.ts'
import type { DeviceTables } from './device-tables.ts'
import type { EstopTables } from './estop-tables.ts'
import type { EventTables } from './event-tables.ts'
import type { FlowTables } from './flow-tables.ts'
import type { GateTables } from './gate-tables.ts'
import type { KeyTables } from './key-tables.ts'
import type { KnowledgeTables } from './knowledge-tables.ts'
import type { ModelTables } from './model-tables.ts'
import type { QuotaTables } from './quota-tables.ts'
import type { RegisterTables } from './register-tables.ts'
import type { RegistryTables } from './registry-tables.ts'
import type { ResponseTables } from './response-tables.ts'
import type { ScheduleTables } from './schedule-tables.ts'
import type { SwarmTables } from './swarm-tables.ts'
import type { TaskTables } from './task-tables.ts'

/**
 * The tables of the ledger, by subject; those of the records are in `record-tables.ts`. Only text
 * and integers, so that the same schema holds on PostgreSQL. Times are unix milliseconds by the
 * coordinator's clock. Columns that end in `_json` hold JSON text; digests are SHA-256 in hexadecimal.
 */
export interface LedgerTables
  extends AgentTables,
    AuditTables,
    CellTables,
    ConversationTables,
    DeliveryTables,
    DeviceTables,
    EstopTables,
    EventTables,
    FlowTables,
    GateTables,
    KeyTables,
    KnowledgeTables,
    ModelTables,
    QuotaTables,
    RegisterTables,
    RegistryTables,
    ResponseTables,
    ScheduleTables,
    SwarmTables,
    TaskTables {
  revisions: RevisionRow
  probe: ProbeRow
  leases: LeaseRow
  replicas: ReplicaRow
  replica_keys: ReplicaKeyRow
  secrets: SecretRow
  sequences: SequenceRow
}

/** Grows with every change of the named subject, so that other processes drop what they cached. */
interface RevisionRow {
  name: string
  value: number
}

/** Tenure of a name; the row stays when it ends, because its epoch must only grow. */
interface LeaseRow {
  name: string
  owner: string
  epoch: number
  /** Unix milliseconds by the clock of the store; 0 after a release. */
  until: number
}

/** A coordinator that serves the fleet; gone when it stops, or when it has not renewed the row. */
interface ReplicaRow {
  id: string
  /** URL at which cells reach this coordinator and no other. */
  address: string | null
  version: string
  /** Unix milliseconds by the clock of the store. */
  started_at: number
  until: number
  /** Ids of enrolled cells that are not connected to it: a JSON array, not longer than is readable. */
  unconnected_json: string
  /** Name for people; null for an older coordinator. */
  name: string | null
  /** 1 while a cell is connected to it, as of its last renewal; else 0. */
  has_cells: number
}

/** The last number that was given of one sequence. */
export interface SequenceRow {
  name: string
  value: number
}

/** One row, rewritten to see whether the store can be written. */
interface ProbeRow {
  id: number
  at: number
}

/** A secret that all coordinators share, encrypted with a key of `sealing.key`. */
export interface SecretRow {
  name: string
  /** Id of the key that opens it. */
  key_id: string
  sealed: string
  /** Grows with every change of the secret itself. */
  version: number
  changed_at: number
}

/** Ids of the keys in `sealing.key` of one coordinator, as a list. */
interface ReplicaKeyRow {
  replica_id: string
  key_ids_json: string
}
