import { createGoToVerb } from '../links/mavlink/go-to-verb.ts'
import { ARMED, NAVIGABLE } from '../links/mavlink/interlocks.ts'
import { GROUND_PROPERTIES, GROUND_REST } from '../links/mavlink/properties.ts'
import {
  createArmVerbs,
  createHoldVerbs,
  createModeVerb,
  createReturnVerb,
} from '../links/mavlink/verbs.ts'
import { defineProfile } from '../profile.ts'

/** Radius of a waypoint of ArduPilot (`WP_RADIUS`) is 2 m, and a rover rolls on a little. */
const WITHIN_M = 3

const AT_ESTOP = { atEstop: 'hold' } as const
const AT_LAUNCH = { kind: 'launch', within_m: WITHIN_M } as const

/** Rover or boat with ArduPilot or PX4. */
export default defineProfile({
  id: 'rover',
  title: 'Rover or boat with ArduPilot or PX4',
  kind: 'robot',
  link: 'mavlink',
  properties: GROUND_PROPERTIES,
  verbs: {
    ...createArmVerbs('Anybody near the vehicle is in danger.', { ...AT_ESTOP, interlocks: [] }),
    'go-to': createGoToVerb({
      description: 'Drive in a straight line to a position, and stop there.',
      maxSpeed_m_s: 10,
      usualSpeed_m_s: 1,
      within_m: WITHIN_M,
      hasAltitude: false,
      interlocks: [...NAVIGABLE, ARMED],
      ...AT_ESTOP,
    }),
    'set-mode': createModeVerb('rover', AT_ESTOP, AT_LAUNCH),
    'return-to-launch': createReturnVerb(
      'Drive back to where it was started.',
      AT_ESTOP,
      () => AT_LAUNCH,
    ),
    ...createHoldVerbs('Stop where it is.'),
  },
  envelope: {
    max_state_age_ms: 5000,
    min_battery_to_start_percent: 20,
    min_battery_to_continue_percent: 10,
  },
  atEstop: 'hold',
  rest: GROUND_REST,
})
