import { createCoverProfile } from '../links/mqtt/profiles.ts'

export default createCoverProfile({ id: 'zigbee-cover', title: 'Zigbee cover' })
