import { createLightProfile } from '../links/mqtt/profiles.ts'

export default createLightProfile({
  id: 'home-assistant-light',
  title: 'Light announced for Home Assistant',
})
