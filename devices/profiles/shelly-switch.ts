import { createSwitchProfile } from '../links/mqtt/profiles.ts'

export default createSwitchProfile({ id: 'shelly-switch', title: 'Shelly switch' })
