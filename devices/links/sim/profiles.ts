import simDrone from '../../profiles/sim-drone.ts'
import simPrinter from '../../profiles/sim-printer.ts'
import simRover from '../../profiles/sim-rover.ts'
import simSwitch from '../../profiles/sim-switch.ts'

/** Profiles of simulated devices. */
export const SIM_PROFILES = {
  'sim-rover': simRover,
  'sim-drone': simDrone,
  'sim-printer': simPrinter,
  'sim-switch': simSwitch,
} as const
