import { createHaltVerb, createPlainVerb, EXECUTED_COUNT } from '../links/sim/verbs.ts'
import { defineProfile } from '../profile.ts'
import { SHARED_PROPERTIES } from '../properties.ts'

const createSwitchVerb = (on: boolean) =>
  createPlainVerb(
    { op: 'switch', on },
    {
      description: `Switches the load ${on ? 'on' : 'off'}.`,
      hazard: 'caution',
      isIdempotent: true,
      timeoutSeconds: 30,
      atEstop: 'cut',
    },
  )

/** Mains switch with a load. */
export default defineProfile({
  id: 'sim-switch',
  title: 'Simulated switch',
  kind: 'switch',
  link: 'sim',
  properties: {
    is_on: { title: 'On', type: 'boolean', stale_after_ms: 60_000 },
    power_watts: SHARED_PROPERTIES.power_watts,
    executed_count: EXECUTED_COUNT,
  },
  verbs: {
    on: createSwitchVerb(true),
    off: createSwitchVerb(false),
    stop: createHaltVerb('Switches the load off at once.', 'cut'),
  },
  atEstop: 'cut',
  rest: [[{ property: 'is_on', allowed: [false] }]],
})
