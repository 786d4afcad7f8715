import type { NameMode } from './judge.ts'

/** Modes of `ArduCopter/mode.h` and `Rover/mode.h` that a flight meets, as shoal names them. */
const COPTER: Readonly<Record<number, string>> = {
  0: 'stabilize',
  2: 'alt_hold',
  3: 'auto',
  4: 'guided',
  5: 'loiter',
  6: 'rtl',
  7: 'circle',
  9: 'land',
  16: 'poshold',
  17: 'brake',
  21: 'smart_rtl',
}
const ROVER: Readonly<Record<number, string>> = {
  0: 'manual',
  1: 'acro',
  3: 'steering',
  4: 'hold',
  5: 'loiter',
  10: 'auto',
  11: 'rtl',
  12: 'smart_rtl',
  15: 'guided',
  16: 'initialising',
}

const nameIn =
  (modes: Readonly<Record<number, string>>): NameMode =>
  mode =>
    modes[mode] ?? `mode_${mode}`

export const nameCopterMode = nameIn(COPTER)
export const nameRoverMode = nameIn(ROVER)

/** Modes into which a pilot or the proof switches. */
export const COPTER_LOITER = 5
export const COPTER_LAND = 9
export const ROVER_MANUAL = 0
