import * as z from 'zod'
import { AckState, Command } from '../../../shared/wire/command.ts'
import { Asked, Seen } from '../../../shared/wire/device-outcome.ts'
import {
  anyJson,
  integer,
  json,
  oneOf,
  optional,
  reference,
  text,
  time,
  withDefault,
} from '../../kernel/store/columns.ts'
import {
  defineTable,
  type EntityOf,
  type RowOf,
  type TableOf,
} from '../../kernel/store/define-table.ts'

const StoredOutcome = z.object({ asked: Asked.exactOptional(), seen: Seen.exactOptional() })

/** A command to a cell. What does not change is in `signed_json`, as it was signed. */
export const commandTable = defineTable('commands', {
  columns: {
    id: text(),
    cell_id: reference('cells'),
    state: oneOf(['queued', 'sent', ...AckState.options]),
    /** Reason code of the state; `message` explains it in plain words. */
    reason: optional(text()),
    message: optional(text()),
    result_json: optional(anyJson()),
    /** Instructions sent to the device and its observed state; null where not reported. */
    outcome_json: optional(json(StoredOutcome)),
    issued_at: time(),
    updated_at: time(),
    timeout_ms: integer(),
    /** Number of times the command was handed to the broker. */
    sends: integer(),
    /** Requester of the command. */
    requested_by: text(),
    /** Signed command, as it is sent to the cell. */
    signed_json: json(Command),
    /**
     * Id of the coordinator that sends it; null once any may. Empty for one of an older version.
     */
    holder: withDefault(optional(text()), ''),
    /**
     * Device that it acts on; null for a dry run, for the cell itself, and for commands of older
     * versions.
     */
    device_id: optional(text()),
  },
  key: ['id'],
  indexes: {
    commands_cell: ['cell_id', 'id'],
    commands_state: ['state'],
    commands_by_device: ['device_id', 'id'],
  },
})

export type CommandRow = RowOf<typeof commandTable>
export type StoredCommand = EntityOf<typeof commandTable>

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    commands: TableOf<typeof commandTable>
  }
}
