import { createLockProfile } from '../links/mqtt/profiles.ts'

export default createLockProfile({
  id: 'home-assistant-lock',
  title: 'Lock announced for Home Assistant',
})
