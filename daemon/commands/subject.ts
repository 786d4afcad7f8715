import type { Command } from '../../shared/wire/command.ts'
import { hashPart, type PlanPart } from '../../shared/wire/plan-part.ts'
import type { Entry } from './journal-line.ts'

/** State-independent part of a journal entry. */
export type JournalSubject = Omit<Entry, 'ack' | 'at' | 'command'>

/** Journal subject of a refused command, whose approval is not used. */
export const toRefusedSubject = ({ id, fence, device_id }: Command): JournalSubject => ({
  id,
  fence,
  ...(device_id === undefined ? {} : { device_id }),
})

/** Journal subject of an accepted command. */
export const toAcceptedSubject = (command: Command, part: PlanPart): JournalSubject => {
  const approval = command.approval?.approval
  if (approval === undefined) return toRefusedSubject(command)
  const { request_id, expires_at } = approval
  return {
    ...toRefusedSubject(command),
    used: { request_id, part_hash: hashPart(part), until: expires_at },
  }
}
