import { createLightProfile } from '../links/mqtt/profiles.ts'

export default createLightProfile({ id: 'zigbee-light', title: 'Zigbee light' })
