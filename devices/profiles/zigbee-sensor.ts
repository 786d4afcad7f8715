import { createSensorProfile } from '../links/mqtt/profiles.ts'

export default createSensorProfile({ id: 'zigbee-sensor', title: 'Zigbee sensor' })
