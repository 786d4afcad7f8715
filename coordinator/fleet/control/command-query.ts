import { sql } from 'kysely'
import type { Logger } from 'pino'
import { readEach, readPage } from '../../kernel/store/read-each.ts'
import type { Ledger, SealedTrx } from '../../kernel/store/store.ts'
import type { CommandRow } from './command.table.ts'
import {
  type CommandRecord,
  type CommandState,
  OPEN_STATES,
  openStatesUpTo,
  toCommandRecord,
} from './command.ts'

export const readCommand = async (
  { read }: Ledger,
  id: string,
): Promise<CommandRecord | undefined> => {
  const query = read.selectFrom('commands').selectAll().where('id', '=', id)
  const row = await query.executeTakeFirst()
  return row && toCommandRecord(row)
}

/** Results that are longer are shown with their command alone, not in a list. */
const LISTED_RESULT_LENGTH = 32 * 1024

const listedResult = sql<string | null>`
  case when length(result_json) <= ${LISTED_RESULT_LENGTH} then result_json end`

export interface CommandFilter {
  cellId?: string
  /** Device of the commands; only live ones are listed. */
  deviceId?: string
  /** Id of the last command of the previous page. */
  before?: string
  limit: number
}

/** Returns commands, newest first, without large results and those that cannot be read. */
export const readCommands = (
  { read }: Ledger,
  { cellId, deviceId, before: start, limit }: CommandFilter,
  logger: Pick<Logger, 'warn'>,
): Promise<CommandRecord[]> => {
  let query = read
    .selectFrom('commands')
    .selectAll()
    .select(listedResult.as('result_json'))
    .orderBy('id', 'desc')
  if (cellId !== undefined) query = query.where('cell_id', '=', cellId)
  if (deviceId !== undefined) query = query.where('device_id', '=', deviceId)
  const select = (limit: number, last: { id: string } | undefined) => {
    const before = last?.id ?? start
    const rest = before === undefined ? query : query.where('id', '<', before)
    return rest.limit(limit).execute()
  }
  return readPage({ limit, select, read: toCommandRecord, logger })
}

/** Commands of devices that are read with one statement. */
const DEVICE_COMMANDS_AT_ONCE = 500

interface DeviceCommandFilter {
  verbs: readonly string[]
  states: readonly CommandState[]
  /** Unix time of the oldest command, milliseconds. */
  since: number
}

/** Returns all live commands of devices with one of these verbs, newest first. */
export const readDeviceCommands = async (
  { read }: Pick<Ledger, 'read'>,
  { verbs, states, since }: DeviceCommandFilter,
): Promise<CommandRecord[]> => {
  const query = read
    .selectFrom('commands')
    .selectAll()
    .select(listedResult.as('result_json'))
    .where('device_id', 'is not', null)
    .where('state', 'in', states)
    .where('issued_at', '>', since)
    .where(({ or }) => or(verbs.map(verb => isSigned({ verb }))))
    .orderBy('id', 'desc')
    .limit(DEVICE_COMMANDS_AT_ONCE)
  const found: CommandRecord[] = []
  for (;;) {
    const before = found.at(-1)?.id
    const page = before === undefined ? query : query.where('id', '<', before)
    const rows = await page.execute()
    found.push(...rows.map(toCommandRecord))
    if (rows.length < DEVICE_COMMANDS_AT_ONCE) break
  }
  return found.filter(({ verb }) => verbs.includes(verb))
}

/**
 * Returns for each of these devices the time of its newest success that was not a mere reading, in
 * unix milliseconds.
 */
export const readNewestSuccesses = async (
  { read }: Pick<Ledger, 'read'>,
  deviceIds: readonly string[],
  since: number,
): Promise<ReadonlyMap<string, number>> => {
  if (deviceIds.length === 0) return new Map()
  const rows = await read
    .selectFrom('commands')
    .select(({ fn }) => ['device_id', fn.max('updated_at').as('at')])
    .where('device_id', 'in', deviceIds)
    .where('state', '=', 'succeeded')
    .where('issued_at', '>', since)
    .where(({ not }) => not(isSigned({ hazard: 'read' })))
    .groupBy('device_id')
    .execute()
  return new Map(rows.map(row => [row.device_id ?? '', Number(row.at)]))
}

/** SQL condition for a member of the signed command, which a nested member may satisfy, too. */
const isSigned = (member: Partial<Record<'verb' | 'hazard', string>>) =>
  sql<boolean>`signed_json like ${`%${JSON.stringify(member).slice(1, -1)}%`}`

/** True for a command that is in the store. */
export const isStored = async (trx: SealedTrx, id: string): Promise<boolean> => {
  const query = trx.selectFrom('commands').select('id').where('id', '=', id)
  return (await query.executeTakeFirst()) !== undefined
}

/**
 * Returns the open commands that no live coordinator holds, oldest first, and those of this one that
 * were never sent: it may have lost track of them. Fences order them, because ids of the same
 * millisecond have no order. One that cannot be read is left to the coordinators that can.
 */
export const readUnheld = async (
  { read }: Ledger,
  live: readonly string[],
  coordinator: string,
  logger: Pick<Logger, 'warn'>,
): Promise<CommandRecord[]> => {
  const query = read.selectFrom('commands').selectAll().where('state', 'in', OPEN_STATES)
  const unheld = query.where(({ eb, or, and }) =>
    or([
      eb('holder', 'is', null),
      eb('holder', 'not in', live),
      and([eb('holder', '=', coordinator), eb('state', '=', 'queued')]),
    ]),
  )
  return sortByFence(readEach(await unheld.execute(), toCommandRecord, logger))
}

/** Returns the commands for a cell that are offered and were never sent, oldest first. */
export const readOffered = (trx: SealedTrx, cellId: string): Promise<CommandRecord[]> =>
  readByFence(
    trx
      .selectFrom('commands')
      .selectAll()
      .where('cell_id', '=', cellId)
      .where('state', '=', 'queued')
      .where('holder', 'is', null),
  )

/**
 * Returns the commands for a cell that another coordinator holds and that the cell has not answered,
 * as far as the store knows.
 */
export const readUnansweredElsewhere = (
  { read }: Ledger,
  cellId: string,
  coordinator: string,
): Promise<CommandRecord[]> =>
  readByFence(
    read
      .selectFrom('commands')
      .selectAll()
      .where('cell_id', '=', cellId)
      .where('state', 'in', openStatesUpTo('sent'))
      .where('holder', '!=', coordinator),
  )

const readByFence = async (query: { execute(): Promise<CommandRow[]> }): Promise<CommandRecord[]> =>
  sortByFence((await query.execute()).map(toCommandRecord))

const sortByFence = (commands: readonly CommandRecord[]): CommandRecord[] =>
  commands.toSorted((a, b) => a.fence - b.fence)

export const readById = async (
  { read }: Ledger,
  ids: readonly string[],
): Promise<CommandRecord[]> => {
  if (ids.length === 0) return []
  const rows = await read.selectFrom('commands').selectAll().where('id', 'in', ids).execute()
  return rows.map(toCommandRecord)
}
