import { VEHICLE_PROPERTIES } from '../links/mavlink/properties.ts'
import { defineProfile } from '../profile.ts'

/** Vehicle whose type or autopilot has no profile: it can be read only. */
export default defineProfile({
  id: 'mavlink-vehicle',
  title: 'Other vehicle that speaks MAVLink',
  kind: 'other',
  link: 'mavlink',
  properties: VEHICLE_PROPERTIES,
  verbs: {},
  atEstop: 'none',
})
