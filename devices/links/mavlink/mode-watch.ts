import type { Logger } from 'pino'
import type { Instruction, ModeFile } from './mode-file.ts'
import type { Vehicle } from './vehicle.ts'

interface ModeWatchParts {
  vehicle: Vehicle
  file: Pick<ModeFile, 'read' | 'replace'>
  logger: Pick<Logger, 'warn'>
}

/**
 * Watches whether a vehicle stays in the modes in which it carries out what this cell asked. A change
 * to another one is a take-over by a pilot, another ground station or a failsafe, and is never undone;
 * the modes are on the disk, so that one while the daemon is away is known at its next start.
 */
export class ModeWatch {
  readonly #parts: ModeWatchParts
  #expected: readonly string[] = []
  /** Ids of the e-stops that gave the newest instruction. */
  #estopIds: readonly string[] = []
  /** Modes that do not count as a take-over: the requested ones, and the one before them. */
  #own = new Set<string>()
  #wasSeen = false
  #isTakenOver = false
  #hasBegun = false
  #loading: Promise<void> | undefined
  #writing: Promise<void> = Promise.resolve()
  /** Text of the instruction on the disk. */
  #written = ''

  constructor(parts: ModeWatchParts) {
    this.#parts = parts
  }

  get isTakenOver(): boolean {
    return this.#isTakenOver
  }

  /** A heartbeat has shown a mode that the newest operation leads to. */
  get isConfirmed(): boolean {
    return this.#wasSeen || this.#expected.length === 0
  }

  /** Takes up the instruction of an earlier run of the daemon, unless there is a newer one. */
  load(): Promise<void> {
    this.#loading ??= this.#load()
    return this.#loading
  }

  /** True when each of these e-stops gave the newest instruction, also before the daemon restarted. */
  async hasSent(estopIds: readonly string[]): Promise<boolean> {
    await this.load()
    return estopIds.every(id => this.#estopIds.includes(id))
  }

  /** Begins a new instruction: the mode of now is the one before it. */
  begin(estopIds: readonly string[] = []): void {
    this.#estopIds = estopIds
    this.#own = new Set([this.#mode])
    this.#expected = []
    this.#wasSeen = false
    this.#hasBegun = true
    this.#setTakenOver(false)
    void this.save()
  }

  /** Expects one of these modes from now on. */
  expect(modes: readonly string[]): void {
    this.#expected = modes
    this.#wasSeen = false
    for (const mode of modes) this.#own.add(mode)
  }

  /** Resolves once the newest instruction is on the disk, or cannot be written. */
  save(): Promise<void> {
    const modes = this.#expected
    this.#writing = this.#writing.then(() => this.#write(modes))
    return this.#writing
  }

  /** Looks at the mode of a heartbeat. A vehicle that has disarmed may change its mode by itself. */
  noteHeartbeat(): void {
    const isExpected = this.#expected.includes(this.#mode)
    const isForeign = this.#wasSeen ? !isExpected : !this.#own.has(this.#mode)
    if (isExpected && !this.#wasSeen) {
      this.#wasSeen = true
      void this.save()
    }
    const isArmed = this.#parts.vehicle.readings.is_armed?.value === true
    const isOrdered = this.#expected.length > 0
    if (isExpected) this.#setTakenOver(false)
    else this.#setTakenOver(this.#isTakenOver || (isOrdered && isForeign && isArmed))
  }

  async #load(): Promise<void> {
    const instruction = await this.#parts.file.read()
    const { modes, own, was_seen, estop_ids } = instruction
    this.#written = JSON.stringify(instruction)
    if (this.#hasBegun) return
    this.#estopIds = estop_ids
    if (modes.length === 0) return
    this.#expected = modes
    this.#own = new Set(own)
    this.#wasSeen = was_seen
    if (this.#parts.vehicle.heartbeatAtMs !== undefined) this.noteHeartbeat()
  }

  async #write(modes: readonly string[]): Promise<void> {
    await this.load()
    const instruction: Instruction = {
      modes: [...modes],
      own: [...this.#own],
      was_seen: this.#wasSeen,
      estop_ids: [...this.#estopIds],
    }
    const text = JSON.stringify(instruction)
    const isOld = modes !== this.#expected
    if (isOld || text === this.#written) return
    try {
      await this.#parts.file.replace(instruction)
      this.#written = text
    } catch (error) {
      this.#parts.logger.warn({ reason: (error as Error).message }, 'modes not written')
    }
  }

  get #mode(): string {
    return String(this.#parts.vehicle.readings.mode?.value)
  }

  #setTakenOver(isTakenOver: boolean): void {
    this.#isTakenOver = isTakenOver
    this.#parts.vehicle.note('is_taken_over', isTakenOver)
  }
}
