import * as z from 'zod'
import { DeviceKind } from '../../../shared/wire/device.ts'
import {
  flag,
  growingWords,
  integer,
  json,
  optional,
  text,
  time,
} from '../../kernel/store/columns.ts'
import { defineTable, type EntityOf, type TableOf } from '../../kernel/store/define-table.ts'
import { StoredDeviceFacts } from './stored-device-facts.ts'

/** A device of the fleet, as all coordinators agree on it. Times are unix milliseconds. */
export const deviceTable = defineTable('devices', {
  columns: {
    device_id: text(),
    /**
     * Cell that it belongs to, or belonged to before it was removed: the first that announced it, until
     * that one is known to be away.
     */
    cell_id: text(),
    /** Other cells that announce it. */
    also_on_json: json(z.array(z.string())),
    kind: growingWords(DeviceKind.options),
    /** Facts that the cell announces. */
    facts_json: json(StoredDeviceFacts),
    /** Flag of a device whose cell is connected and reaches it. */
    is_available: flag(),
    /** Labels that operators have set. */
    labels_json: json(z.record(z.string(), z.string()).readonly()),
    first_seen: time(),
    /** Time of the last change of what is announced; no heartbeat writes it. */
    changed_at: time(),
    /** Time at which the last cell stopped announcing it; undefined before. */
    gone_at: optional(time()),
    /** Grows over all rows, so that other processes read what has changed. */
    version: integer(),
  },
  key: ['device_id'],
  indexes: {
    devices_version: ['version'],
  },
})

export interface Device extends Omit<EntityOf<typeof deviceTable>, 'deviceId' | 'version'> {
  id: string
}

declare module '../../kernel/store/tables.ts' {
  interface LedgerTables {
    devices: TableOf<typeof deviceTable>
  }
}
