import { createSwitchProfile } from '../links/mqtt/profiles.ts'

export default createSwitchProfile({ id: 'zigbee-switch', title: 'Zigbee switch' })
