import { createSirenProfile } from '../links/mqtt/profiles.ts'

export default createSirenProfile({ id: 'zigbee-siren', title: 'Zigbee siren' })
