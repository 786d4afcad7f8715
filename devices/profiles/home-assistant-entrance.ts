import { createCoverProfile } from '../links/mqtt/profiles.ts'

export default createCoverProfile({
  id: 'home-assistant-entrance',
  title: 'Door, garage door or gate announced for Home Assistant',
  isEntrance: true,
})
