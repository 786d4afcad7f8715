import { createCoverProfile } from '../links/mqtt/profiles.ts'

export default createCoverProfile({ id: 'shelly-cover', title: 'Shelly cover' })
