import { createSwitchProfile } from '../links/mqtt/profiles.ts'

export default createSwitchProfile({ id: 'tasmota-switch', title: 'Tasmota switch' })
