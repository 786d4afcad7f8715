import type { Logger } from 'pino'
import { Ack, isGenuineAck } from '../../../shared/wire/command.ts'

export interface AckParts {
  /** The public key with which the cell signs. */
  cellKey: (cellId: string) => Promise<string | undefined>
  logger: Pick<Logger, 'warn'>
}

/** Reads a body of the `ack` topic; undefined, with a warning, for one that the cell has not signed. */
export const readGenuineAck = async (
  cellId: string,
  body: unknown,
  { cellKey, logger }: AckParts,
): Promise<Ack | undefined> => {
  const ack = Ack.parse(body)
  const key = await cellKey(cellId)
  if (key !== undefined && ack.cell_id === cellId && isGenuineAck(ack, key)) return ack
  logger.warn({ cell: cellId, command: ack.command_id }, 'an ack is not signed by the cell')
  return undefined
}
