import { createLightProfile } from '../links/mqtt/profiles.ts'

export default createLightProfile({ id: 'shelly-light', title: 'Shelly light' })
