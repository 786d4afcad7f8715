import * as z from 'zod'
import { containerId, names, siteUrl, targetHost, VERSIONED } from './parameters.ts'
import { type HostProbe, probe } from './probe.ts'

const SERIALS = ['serial', 'serialNum', 'serialNumber', 'assetTag'] as const
/** Arguments of programs, and their environment, hold passwords. */
const COMMAND_LINE = ['command', 'params', 'path', 'args'] as const
/** Labels and options are free text, and people put credentials there. */
const DOCKER = ['command', 'labels', 'options', 'config', 'containerConfig'] as const

const all = z.boolean().default(false).describe('Also those that do not run or are not tagged.')

const machine: HostProbe[] = [
  probe(
    'system',
    'object',
    'System',
    'Maker and model of the machine, and whether it is virtual.',
    {
      removed: [...SERIALS, 'uuid'],
    },
  ),
  probe('bios', 'object', 'BIOS', 'Maker, version and date of the firmware.', { removed: SERIALS }),
  probe('baseboard', 'object', 'Baseboard', 'Maker and model of the mainboard; memMax in bytes.', {
    removed: SERIALS,
  }),
  probe('chassis', 'object', 'Chassis', 'Maker, model and type of the case.', { removed: SERIALS }),
  probe(
    'uuid',
    'object',
    'Machine ids',
    'Digests of the ids of the operating system and the hardware, and the hardware addresses of the network.',
  ),
  probe(
    'memLayout',
    'list',
    'Memory modules',
    'Every memory module: size in bytes, type, clock in MHz.',
    {
      removed: SERIALS,
    },
  ),
  probe(
    'battery',
    'object',
    'Battery',
    'Charge in percent, capacities in capacityUnit, timeRemaining in minutes.',
    {
      removed: SERIALS,
    },
  ),
  probe(
    'graphics',
    'object',
    'Graphics',
    'Graphics controllers and displays: memory in MiB, temperatures in degrees Celsius, power in watts.',
    {
      removed: SERIALS,
    },
  ),
  probe('usb', 'list', 'USB devices', 'What is plugged into the USB buses.', { removed: SERIALS }),
  probe('audio', 'list', 'Audio devices', 'Sound cards and their drivers.', { removed: SERIALS }),
  probe(
    'bluetoothDevices',
    'list',
    'Bluetooth devices',
    'Paired Bluetooth devices and whether they are connected.',
  ),
  probe('printer', 'list', 'Printers', 'Printers that are set up, without their addresses.', {
    removed: ['uri'],
  }),
]

const processor: HostProbe[] = [
  probe(
    'cpu',
    'object',
    'Processor',
    'Brand, cores and caches of the processor: speeds in GHz, caches in bytes.',
  ),
  probe(
    'cpuFlags',
    'text',
    'Processor flags',
    'The instruction sets of the processor, with spaces between them.',
  ),
  probe('cpuCache', 'object', 'Processor caches', 'Size of the caches of the processor, bytes.'),
  probe('cpuCurrentSpeed', 'object', 'Processor speed', 'Clock of every core now, GHz.'),
  probe(
    'cpuTemperature',
    'object',
    'Processor temperature',
    'Temperature of the processor and its cores, degrees Celsius.',
  ),
  probe(
    'currentLoad',
    'object',
    'Load',
    'Load of the processor and of every core since the last look, percent.',
    {
      isRate: true,
    },
  ),
  probe(
    'fullLoad',
    'number',
    'Load since boot',
    'Mean load of the processor since the machine was started, percent.',
  ),
  probe('mem', 'object', 'Memory', 'Memory and swap of the machine, bytes.'),
]

const system: HostProbe[] = [
  probe(
    'time',
    'object',
    'Time',
    'Clock (unix time, milliseconds), time zone and uptime (seconds) of the machine.',
  ),
  probe('osInfo', 'object', 'Operating system', 'Distribution, release, kernel and host name.', {
    removed: SERIALS,
  }),
  probe(
    'versions',
    'object',
    'Versions',
    'Versions of programs that are installed; an empty one was not found.',
    {
      deadlineSeconds: 14,
      input: {
        apps: z
          .array(z.enum(VERSIONED))
          .min(1)
          .max(VERSIONED.length)
          .optional()
          .describe('Only these; asking for all starts each of them.'),
      },
    },
  ),
  probe('shell', 'text', 'Shell', 'The shell of the account that the daemon runs as.'),
  probe(
    'users',
    'list',
    'Users',
    'Who is logged in, since when and from where, without what they run.',
    {
      removed: COMMAND_LINE,
    },
  ),
  probe(
    'processes',
    'object',
    'Processes',
    'Every process, the busiest first: shares of processor and memory in percent, sizes in KiB, without its arguments.',
    {
      removed: COMMAND_LINE,
    },
  ),
  probe(
    'processLoad',
    'list',
    'Load of processes',
    'What the processes with these names use together, percent.',
    {
      input: { names: names('Parts of names of processes, as `ps -o comm` shows them.') },
      isRate: true,
    },
  ),
  probe(
    'services',
    'list',
    'Services',
    'Services of the machine and whether they run: shares of processor and memory in percent.',
    {
      input: { names: names('Only these services; all of them by default.').optional() },
    },
  ),
  probe('vboxInfo', 'list', 'VirtualBox', 'Virtual machines of VirtualBox.', {
    removed: ['UUID', 'hardwareUUID', 'configFile', 'logFolder', 'snapshotFolder'],
  }),
]

const storage: HostProbe[] = [
  probe('fsSize', 'list', 'File systems', 'Mounted file systems: sizes in bytes, use in percent.'),
  probe('fsOpenFiles', 'object', 'Open files', 'How many files are open and how many may be.'),
  probe(
    'blockDevices',
    'list',
    'Block devices',
    'Disks and partitions: size in bytes, file system, where they are mounted.',
    {
      removed: [...SERIALS, 'uuid'],
    },
  ),
  probe(
    'fsStats',
    'object',
    'File system traffic',
    'Bytes read and written since boot, and per second.',
    {
      isRate: true,
    },
  ),
  probe(
    'disksIO',
    'object',
    'Disk operations',
    'Operations of the disks since boot and per second; waiting times in milliseconds.',
    {
      isRate: true,
    },
  ),
  probe(
    'diskLayout',
    'list',
    'Disks',
    'Maker, model, size in bytes and health of the physical disks.',
    {
      removed: [...SERIALS, 'serial_number', 'wwn'],
    },
  ),
]

const network: HostProbe[] = [
  probe(
    'networkInterfaceDefault',
    'text',
    'Default interface',
    'The network interface of the default route.',
  ),
  probe('networkGatewayDefault', 'text', 'Default gateway', 'The address of the default gateway.'),
  probe(
    'networkInterfaces',
    'list',
    'Network interfaces',
    'Interfaces with their addresses and state; speed in Mbit/s.',
  ),
  probe(
    'networkStats',
    'list',
    'Network traffic',
    'Bytes, losses and errors of interfaces since boot, and bytes per second.',
    {
      input: {
        interfaces: z
          .array(
            z
              .string()
              .regex(/^[A-Za-z0-9_][A-Za-z0-9_.@:-]{0,31}$/)
              .max(32),
          )
          .min(1)
          .max(20)
          .optional()
          .describe('Only these; that of the default route when absent.'),
      },
      isRate: true,
    },
  ),
  probe(
    'networkConnections',
    'list',
    'Network connections',
    'Open sockets with their addresses, state and process.',
  ),
  probe(
    'inetChecksite',
    'object',
    'Site check',
    'Whether a site answers, with what status and after how many milliseconds. Asks only what the cell allows.',
    {
      input: { url: siteUrl },
      openWorld: true,
    },
  ),
  probe(
    'inetLatency',
    'number',
    'Latency',
    'Round trip of a ping, milliseconds. Asks only what the cell allows.',
    {
      input: { host: targetHost },
      openWorld: true,
    },
  ),
  probe(
    'wifiNetworks',
    'list',
    'Wifi networks',
    'Wifi networks in reach: frequency in MHz, signal in dBm.',
    {
      deadlineSeconds: 14,
    },
  ),
  probe('wifiInterfaces', 'list', 'Wifi interfaces', 'The wifi adapters of the machine.'),
  probe(
    'wifiConnections',
    'list',
    'Wifi connections',
    'Wifi networks the machine is connected to: frequency in MHz, signal in dBm.',
  ),
]

const docker: HostProbe[] = [
  probe('dockerInfo', 'object', 'Docker', 'Version, settings and counts of the docker engine.', {
    removed: [...DOCKER, 'id', 'httpProxy', 'httpsProxy', 'noProxy'],
  }),
  probe('dockerImages', 'list', 'Docker images', 'Images of the docker engine; sizes in bytes.', {
    input: { all },
    removed: DOCKER,
  }),
  probe(
    'dockerContainers',
    'list',
    'Docker containers',
    'Containers with image, state, ports and mounts.',
    {
      input: { all },
      removed: DOCKER,
    },
  ),
  probe(
    'dockerContainerStats',
    'list',
    'Docker load',
    'What containers use: processor and memory in percent, memory and traffic in bytes.',
    {
      input: { container: containerId },
      removed: DOCKER,
    },
  ),
  probe(
    'dockerContainerProcesses',
    'list',
    'Docker processes',
    'Processes in containers, without their arguments.',
    {
      input: { container: containerId },
      removed: COMMAND_LINE,
    },
  ),
  probe('dockerVolumes', 'list', 'Docker volumes', 'Volumes of the docker engine.', {
    removed: DOCKER,
  }),
]

/** The 51 functions of systeminformation 5.33.23 that look at one thing each. */
export const HOST_PROBES: readonly HostProbe[] = [
  ...machine,
  ...processor,
  ...system,
  ...storage,
  ...network,
  ...docker,
]

const byId = new Map(HOST_PROBES.map(each => [each.id, each]))

export const hostProbe = (id: string): HostProbe | undefined => byId.get(id)
