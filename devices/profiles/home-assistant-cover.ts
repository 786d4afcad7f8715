import { createCoverProfile } from '../links/mqtt/profiles.ts'

export default createCoverProfile({
  id: 'home-assistant-cover',
  title: 'Cover announced for Home Assistant',
})
