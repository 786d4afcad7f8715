import { createSensorProfile } from '../links/mqtt/profiles.ts'

export default createSensorProfile({
  id: 'home-assistant-sensor',
  title: 'Sensor announced for Home Assistant',
})
