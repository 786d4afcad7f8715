import { join } from 'node:path'
import { stringify } from 'yaml'
import { readPrivate, replacePrivate } from '../../shared/private-file.ts'

const rovers = [1, 2, 3, 4].map(n => ({
  name: `rover-${n}`,
  profile: 'sim-rover',
  x_m: 2 * n,
  y_m: 0,
}))

/** Section `devices` of a cell with simulated devices. */
export const DEMO_DEVICES = {
  site: 'demo',
  links: [
    {
      kind: 'sim',
      devices: [
        ...rovers,
        { name: 'drone-1', profile: 'sim-drone', x_m: 5, y_m: 6 },
        { name: 'printer-1', profile: 'sim-printer' },
        { name: 'switch-1', profile: 'sim-switch' },
      ],
    },
  ],
}

const HEADER = `# Configuration of cell-1, written at the first start and yours to change. The devices are
# simulated. Without them: npm start -- --devices none
`

/** Path of the configuration with the devices, which is written when it is missing. */
export const writeDeviceConfig = async (stateFolder: string): Promise<string> => {
  const path = join(stateFolder, 'cell-1.yaml')
  if ((await readPrivate(path)) === undefined)
    await replacePrivate(path, HEADER + stringify({ devices: DEMO_DEVICES }))
  return path
}
