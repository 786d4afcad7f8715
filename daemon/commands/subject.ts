import type { Command } from '../../shared/wire/command.ts'
import { hashPart, type PlanPart } from '../../shared/wire/plan-part.ts'
import type { Entry } from './journal-line.ts'

/** What an entry of the journal is about, whatever its state. */
export type Subject = Omit<Entry, 'ack' | 'at' | 'command'>

/** What the journal keeps of a command that is not carried out: its approval is not used. */
export const refusedOf = ({ id, fence, device_id }: Command): Subject => ({
  id,
  fence,
  ...(device_id === undefined ? {} : { device_id }),
})

/** What the journal keeps of a command that is carried out. */
export const acceptedOf = (command: Command, part: PlanPart): Subject => {
  const approval = command.approval?.approval
  if (approval === undefined) return refusedOf(command)
  const { request_id, expires_at } = approval
  return {
    ...refusedOf(command),
    used: { request_id, part_hash: hashPart(part), until: expires_at },
  }
}
