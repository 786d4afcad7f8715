import { createLockProfile } from '../links/mqtt/profiles.ts'

export default createLockProfile({ id: 'zigbee-lock', title: 'Zigbee lock' })
