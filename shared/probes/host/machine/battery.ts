import { device } from '../../needs.ts'
import { SERIALS } from '../../private-fields.ts'
import { defineHostProbe } from '../../probe.ts'

const NO_BATTERY = 'this machine has no battery'

export default defineHostProbe({
  id: 'battery',
  call: 'battery',
  description: 'Charge in percent, capacities in capacityUnit, timeRemaining in minutes.',
  shape: 'object',
  removed: SERIALS,
  needs: [device('power_supply', NO_BATTERY)],
  explainInvented: ({ hasBattery }) => (hasBattery === true ? undefined : NO_BATTERY),
})
