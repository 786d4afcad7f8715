import { join } from 'node:path'
import * as z from 'zod'
import { readPrivate, replacePrivate } from '../../../shared/private-file.ts'
import { MAX_STOPS } from '../../../shared/wire/estop.ts'

const Instruction = z.object({
  /** Modes in which the vehicle carries out the instruction. */
  modes: z.array(z.string().max(64)).max(64),
  /** Modes that do not count as a take-over until `was_seen`. */
  own: z.array(z.string().max(64)).max(64).default([]),
  /** A heartbeat has shown one of the modes. */
  was_seen: z.boolean().default(true),
  /** Ids of the e-stops that gave the instruction. */
  estop_ids: z.array(z.string().max(64)).max(MAX_STOPS).default([]),
})
export type Instruction = z.infer<typeof Instruction>

const NO_INSTRUCTION: Instruction = { modes: [], own: [], was_seen: false, estop_ids: [] }

/** Newest instruction of a vehicle, as it outlives the daemon. */
export class ModeFile {
  readonly #path: string

  /** @param stateDir private folder of the links */
  constructor(stateDir: string, deviceId: string) {
    this.#path = join(stateDir, 'mavlink-modes', deviceId)
  }

  /** Reads the newest instruction; empty before the first one, and for a damaged file. */
  async read(): Promise<Instruction> {
    try {
      const text = await readPrivate(this.#path)
      return text === undefined ? NO_INSTRUCTION : Instruction.parse(JSON.parse(text))
    } catch {
      return NO_INSTRUCTION
    }
  }

  async replace(instruction: Instruction): Promise<void> {
    await replacePrivate(this.#path, `${JSON.stringify(instruction)}\n`)
  }
}
