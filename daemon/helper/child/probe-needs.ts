import { once } from 'node:events'
import { constants } from 'node:fs'
import { access, readdir } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { delimiter, join } from 'node:path'
import type { ProbeInput } from './probe-arguments.ts'

/** Says in plain words what this machine lacks. */
type Need = (input: ProbeInput) => Promise<string | undefined>

/** The library asks other systems in other ways. */
const onLinux =
  (need: Need): Need =>
  async input =>
    process.platform === 'linux' ? need(input) : undefined

const program = (...names: string[]): Need =>
  onLinux(async () => {
    for (const name of names) if (await isInstalled(name)) return undefined
    const which = names.join(' nor ')
    return names.length === 1 ? `${which} is not installed` : `neither ${which} is installed`
  })

const isInstalled = async (name: string): Promise<boolean> => {
  const folders = (process.env.PATH ?? '').split(delimiter).filter(folder => folder !== '')
  const found = await Promise.all(folders.map(folder => canUse(join(folder, name), constants.X_OK)))
  return found.includes(true)
}

const canUse = (path: string, mode: number): Promise<boolean> =>
  access(path, mode).then(
    () => true,
    () => false,
  )

/** The kernel lists what there is of a class (sysfs(5)). */
const device = (kernelClass: string, why: string): Need =>
  onLinux(async () => {
    const found = await readdir(join('/sys/class', kernelClass)).catch(() => [])
    return found.length === 0 ? why : undefined
  })

const wifi: Need = onLinux(async () => {
  const interfaces = await readdir('/sys/class/net').catch(() => [])
  const wireless = await Promise.all(
    interfaces.map(each => canUse(join('/sys/class/net', each, 'wireless'), constants.F_OK)),
  )
  return wireless.includes(true) ? undefined : 'this machine has no wifi adapter'
})

/** Where the library looks for it, with the same variable. */
const dockerSocket = (): string => process.env.DOCKER_SOCKET ?? '/var/run/docker.sock'

const docker: Need = onLinux(async () => {
  const socket = createConnection(dockerSocket())
  try {
    await once(socket, 'connect')
    return undefined
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EACCES') return `the daemon may not use docker (${dockerSocket()})`
    return `no docker engine answers at ${dockerSocket()} (${code})`
  } finally {
    socket.destroy()
  }
})

/** Of an interface that is not there the library tells zeros. */
const interfaces: Need = onLinux(async ({ interfaces: asked = [] }) => {
  const there = await readdir('/sys/class/net').catch(() => asked)
  const lacking = asked.filter(name => !there.includes(name))
  return lacking.length === 0 ? undefined : `there is no network interface ${lacking.join(', ')}`
})

const NEEDS: Record<string, readonly Need[]> = {
  usb: [program('lsusb')],
  audio: [program('lspci', 'aplay')],
  'bluetooth-devices': [device('bluetooth', 'this machine has no Bluetooth adapter')],
  battery: [device('power_supply', 'this machine has no battery')],
  users: [program('who')],
  processes: [program('ps')],
  'process-load': [program('ps')],
  services: [program('ps')],
  'vbox-info': [program('vboxmanage', 'VBoxManage')],
  'fs-size': [program('df')],
  'block-devices': [program('lsblk')],
  'fs-stats': [program('lsblk')],
  'disks-io': [program('lsblk')],
  'disk-layout': [program('lsblk')],
  'network-connections': [program('netstat', 'ss')],
  'network-interface-default': [program('ip')],
  'network-gateway-default': [program('ip')],
  'network-stats': [interfaces],
  'inet-latency': [program('ping')],
  'wifi-networks': [wifi, program('nmcli', 'iw', 'iwlist')],
  'wifi-interfaces': [wifi, program('iw', 'nmcli')],
  'wifi-connections': [wifi, program('iw', 'nmcli')],
  'docker-info': [docker],
  'docker-images': [docker],
  'docker-containers': [docker],
  'docker-container-stats': [docker],
  'docker-container-processes': [docker],
  'docker-volumes': [docker],
}

/** What this machine lacks for a probe, or undefined. */
export const missing = async (probeId: string, input: ProbeInput): Promise<string | undefined> => {
  for (const need of NEEDS[probeId] ?? []) {
    const lacks = await need(input)
    if (lacks !== undefined) return lacks
  }
  return undefined
}
