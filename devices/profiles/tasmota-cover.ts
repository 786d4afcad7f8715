import { createCoverProfile } from '../links/mqtt/profiles.ts'

export default createCoverProfile({ id: 'tasmota-cover', title: 'Tasmota shutter' })
