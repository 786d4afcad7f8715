import { createSirenProfile } from '../links/mqtt/profiles.ts'

export default createSirenProfile({
  id: 'home-assistant-siren',
  title: 'Siren announced for Home Assistant',
})
