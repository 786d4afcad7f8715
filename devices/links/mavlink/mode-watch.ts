import type { Vehicle } from './vehicle.ts'

/**
 * Watches whether a vehicle stays in the modes in which it carries out what this cell asked. A change
 * to another one is a take-over by a pilot, another ground station or a failsafe, and is never undone.
 */
export class ModeWatch {
  readonly #vehicle: Vehicle
  #expected: readonly string[] = []
  /** Modes that are no take-over: those that were asked for, and the one before. */
  #own = new Set<string>()
  #wasSeen = false
  #isTakenOver = false

  constructor(vehicle: Vehicle) {
    this.#vehicle = vehicle
  }

  get isTakenOver(): boolean {
    return this.#isTakenOver
  }

  /** Begins a new instruction: the mode of now is the one before it. */
  begin(): void {
    this.#own = new Set([this.#mode])
    this.#expected = []
    this.#wasSeen = false
    this.#setTakenOver(false)
  }

  /** Expects one of these modes from now on. */
  expect(modes: readonly string[]): void {
    this.#expected = modes
    this.#wasSeen = false
    for (const mode of modes) this.#own.add(mode)
  }

  /** Looks at the mode of a heartbeat. A vehicle that has disarmed may change its mode by itself. */
  noteHeartbeat(): void {
    const isExpected = this.#expected.includes(this.#mode)
    const isForeign = this.#wasSeen ? !isExpected : !this.#own.has(this.#mode)
    this.#wasSeen ||= isExpected
    const isArmed = this.#vehicle.readings.is_armed?.value === true
    const isOrdered = this.#expected.length > 0
    if (isExpected) this.#setTakenOver(false)
    else this.#setTakenOver(this.#isTakenOver || (isOrdered && isForeign && isArmed))
  }

  get #mode(): string {
    return String(this.#vehicle.readings.mode?.value)
  }

  #setTakenOver(isTakenOver: boolean): void {
    this.#isTakenOver = isTakenOver
    this.#vehicle.note('is_taken_over', isTakenOver)
  }
}
