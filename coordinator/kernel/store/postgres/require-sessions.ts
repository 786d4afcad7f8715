import { ShoalError } from '../../../../shared/errors.ts'
import { newId } from '../../../../shared/ids.ts'
import type { Connection } from './connection.ts'
import type { Server } from './server.ts'

/**
 * SQLSTATE of a prepared statement that is there already, and of one that is not
 * (postgresql.org/docs/15/errcodes-appendix.html).
 */
const MIXED_UP = ['42P05', '26000']
const ANSWER_MS = 2000
const ROUNDS = 3

/**
 * Throws `config_invalid` where a pooler hands the statements of one connection to another: two
 * connections prepare one statement under one name, which fails where they share a session.
 */
export const requireSessions = async (server: Server): Promise<void> => {
  const connections: Connection[] = []
  const name = newId('shoal_probe')
  try {
    while (connections.length < 2) connections.push(await server.connect())
    for (let round = 0; round < ROUNDS; round++)
      for (const connection of connections) await prepare(connection, name)
  } catch (error) {
    if (!MIXED_UP.includes(codeOf(error))) throw error
    throw new ShoalError(
      'config_invalid',
      'store.prepared: the pooler in front of PostgreSQL shares sessions among its clients and keeps no prepared statements apart; set store.prepared: false, or max_prepared_statements in PgBouncer 1.21 or later',
      { cause: error },
    )
  } finally {
    for (const connection of connections) await connection.end()
  }
}

const prepare = (connection: Connection, name: string): Promise<unknown> =>
  connection.query({
    text: 'select cast($1 as integer) as probe',
    values: [1],
    statements: { nameOf: () => name, clear: () => {} },
    limitMs: ANSWER_MS,
  })

/** Code of the error of the server, which may be the cause of a fault. */
const codeOf = (error: unknown): string => {
  const { code, cause } = error as { code?: unknown; cause?: unknown }
  const own = typeof code === 'string' ? code : ''
  return MIXED_UP.includes(own) || cause === undefined || cause === null ? own : codeOf(cause)
}
