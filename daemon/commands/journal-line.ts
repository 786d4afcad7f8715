import * as z from 'zod'
import { Ack, Command } from '../../shared/wire/command.ts'
import { parseLine } from '../checked-line.ts'

/** Part of an approved plan that a command has used. */
const Used = z.object({
  request_id: z.string(),
  part_hash: z.string(),
  /** Expiry of the approval, in unix milliseconds by the coordinator's clock. */
  until: z.int(),
})

/** Latest state of one command on this cell. */
const Entry = z.object({
  id: z.string(),
  fence: z.int(),
  device_id: z.string().exactOptional(),
  used: Used.exactOptional(),
  /** Devices that the command moves, until it is final. */
  moves: z.array(z.string()).exactOptional(),
  /** Unix milliseconds by the cell's clock. */
  at: z.int(),
  ack: Ack,
  /** Present until the command is final. */
  command: Command.exactOptional(),
})
export type Entry = z.infer<typeof Entry>

/** A fence without a lane applies to every lane without its own fence. */
const FenceLine = z.object({ fence: z.int(), lane: z.string().exactOptional() }).strict()
const UsedLine = Used.extend({ by: z.string() }).strict()
export type UsedLine = z.infer<typeof UsedLine>
const Line = z.union([FenceLine, UsedLine, Entry])
export type JournalLine = z.infer<typeof Line>

/** Lane of a command: its device, or the cell itself. */
export const deviceLaneOf = ({ device_id }: Pick<Command, 'device_id'>): string => device_id ?? ''

/** Decodes a line; undefined for one that was changed, or that no journal contains. */
export const decodeLine = (line: string): JournalLine | undefined => {
  const value = parseLine(line)
  return value === undefined ? undefined : Line.safeParse(value).data
}
