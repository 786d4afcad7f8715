import { VEHICLE_PROPERTIES } from '../links/mavlink/properties.ts'
import { defineProfile } from '../profile.ts'

/**
 * Vehicle whose type or autopilot has no profile, or has not been heard yet. It can be read only; a stop
 * is sent once its heartbeat says how, so that a motion that a restart interrupted is braked.
 */
export default defineProfile({
  id: 'mavlink-vehicle',
  title: 'Other vehicle that speaks MAVLink',
  kind: 'other',
  link: 'mavlink',
  properties: VEHICLE_PROPERTIES,
  verbs: {},
  atEstop: 'hold',
})
