import { createSwitchProfile } from '../links/mqtt/profiles.ts'

export default createSwitchProfile({
  id: 'home-assistant-switch',
  title: 'Switch announced for Home Assistant',
})
