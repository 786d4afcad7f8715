import * as z from 'zod'
import type { Command } from '../../shared/wire/command.ts'
import { FORMATION_VERB } from '../../shared/wire/formation.ts'
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
  const moves = command.mode === 'live' ? listMoved(command, part) : []
  return {
    ...toRefusedSubject(command),
    ...(moves.length > 0 && { moves }),
    ...(approval && {
      used: {
        request_id: approval.request_id,
        part_hash: hashPart(part),
        until: approval.expires_at,
      },
    }),
  }
}

const Unit = z.object({ device_id: z.string() })

/** Devices that a command moves: its own, or the units of a formation. */
const listMoved = ({ device_id, verb }: Command, { operations, bounds }: PlanPart): string[] => {
  if (device_id !== undefined) return bounds.motion === undefined ? [] : [device_id]
  if (verb !== FORMATION_VERB) return []
  return [...new Set(operations.flatMap(one => Unit.safeParse(one).data?.device_id ?? []))]
}
