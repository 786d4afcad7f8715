import { REST, VEHICLE_PROPERTIES } from '../links/mavlink/properties.ts'
import {
  createArmVerbs,
  createHaltVerb,
  createHoldVerbs,
  createModeVerb,
} from '../links/mavlink/verbs.ts'
import { defineProfile } from '../profile.ts'

const AT_ESTOP = { atEstop: 'hold' } as const
const REST_GOAL = { kind: 'rest' } as const

/** Submarine with ArduPilot; positions are for its pilot, as there is no GPS under water. */
export default defineProfile({
  id: 'sub',
  title: 'Submarine with ArduPilot',
  kind: 'robot',
  link: 'mavlink',
  properties: VEHICLE_PROPERTIES,
  verbs: {
    ...createArmVerbs('Anybody near the propellers is in danger.', AT_ESTOP),
    'set-mode': createModeVerb('sub', AT_ESTOP, REST_GOAL),
    surface: createHaltVerb('Rise to the surface.', ({ traits }) => traits.land),
    ...createHoldVerbs('Stay where it is, or at its depth where it has no position.'),
  },
  envelope: { max_state_age_ms: 5000, min_battery_to_continue_percent: 20 },
  atEstop: 'hold',
  rest: REST,
})
