import type { Vehicle } from './vehicle.ts'

/**
 * Watches whether a vehicle stays in the modes in which it carries out what this cell asked. A change
 * to another one is a take-over by a pilot, another ground station or a failsafe, and is never undone.
 */
export class ModeWatch {
  readonly #vehicle: Vehicle
  #modes: readonly string[] = []
  #wasSeen = false
  #isTakenOver = false

  constructor(vehicle: Vehicle) {
    this.#vehicle = vehicle
  }

  get isTakenOver(): boolean {
    return this.#isTakenOver
  }

  /** Expects one of these modes from now on. */
  expect(modes: readonly string[]): void {
    this.#modes = modes
    this.#wasSeen = false
    this.#isTakenOver = false
    this.#vehicle.note('is_taken_over', false)
  }

  /** Looks at the mode of a heartbeat. A vehicle that has disarmed may change its mode by itself. */
  noteHeartbeat(): void {
    const { mode, is_armed } = this.#vehicle.readings
    if (this.#modes.includes(String(mode?.value))) {
      this.#wasSeen = true
      this.#isTakenOver = false
    } else if (this.#wasSeen && is_armed?.value === true) this.#isTakenOver = true
    this.#vehicle.note('is_taken_over', this.#isTakenOver)
  }
}
