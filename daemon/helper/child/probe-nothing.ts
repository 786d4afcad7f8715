import type { HostProbe } from '../../../shared/probes/probe.ts'
import type { ProbeInput } from './probe-arguments.ts'

type Fields = Record<string, unknown>

const NO_TABLE = 'neither the kernel (/sys/class/dmi/id) nor dmidecode tells it to the daemon'

/** Where the library answers something although it has found nothing. */
const INVENTED: Record<string, (told: Fields & Fields[]) => string | undefined> = {
  battery: ({ hasBattery }) => (hasBattery === true ? undefined : 'this machine has no battery'),
  'cpu-temperature': ({ main, cores }) =>
    main === null && isEmpty(cores) ? 'this machine shows no temperature of it' : undefined,
  'cpu-current-speed': ({ avg }) =>
    (avg ?? 0) === 0 ? 'the kernel does not tell the clock of the processor' : undefined,
  'fs-open-files': ({ max }) => (max ? undefined : 'the kernel does not tell it'),
  // one module of the size of the whole memory is what it makes up without dmidecode
  'mem-layout': modules =>
    modules.every(({ bank, type, clockSpeed }) => !bank && !type && !clockSpeed)
      ? 'dmidecode is not installed, or the daemon may not use it'
      : undefined,
}

/** Where an answer without anything in it means that the machine cannot tell. */
const EMPTY: Record<string, string> = {
  system: NO_TABLE,
  bios: NO_TABLE,
  baseboard: NO_TABLE,
  chassis: NO_TABLE,
  uuid: 'this machine has no ids',
  graphics: 'no graphics controller was found (lspci, nvidia-smi)',
  audio: 'no sound card was found',
  usb: 'no USB bus was found',
  printer: 'no printer is set up, or its settings may not be read (CUPS)',
  shell: 'the daemon runs without a shell',
  'mem-layout': 'no memory module was found',
  'disk-layout': 'no disk tells its maker and model; block-devices lists them',
  'fs-stats': 'no disk was found',
  'disks-io': 'no disk was found',
  'network-interface-default': 'there is no default route',
  'network-gateway-default': 'there is no default route',
  'network-stats': 'there is no such network interface',
  'docker-info': 'docker did not answer',
  'cpu-flags': 'the processor does not tell them',
}

/** Lists that may be empty because nothing is there, and not because nothing can be seen. */
const nothingThere = (probe: HostProbe, told: unknown, input: ProbeInput): string | undefined => {
  if (probe.id === 'inet-latency' && told === null) return `${input.host} did not answer to ping`
  if (EMPTY[probe.id] === undefined && (probe.shape === 'list' || told !== null)) return undefined
  return isEmpty(told) ? (EMPTY[probe.id] ?? 'the library told nothing') : undefined
}

/** Why an answer of the library is none, in plain words; undefined when it is one. */
export const nothingIn = (
  probe: HostProbe,
  told: unknown,
  input: ProbeInput,
): string | undefined => {
  if (told !== null && !hasShape(told, probe.shape))
    return `the library answered no ${probe.shape} but something else`
  const nothing = nothingThere(probe, told, input)
  if (nothing !== undefined || told === null) return nothing ?? 'the library told nothing'
  return INVENTED[probe.id]?.(told as Fields & Fields[])
}

const hasShape = (told: unknown, shape: HostProbe['shape']): boolean => {
  if (shape === 'list') return Array.isArray(told)
  if (shape === 'text') return typeof told === 'string'
  if (shape === 'number') return typeof told === 'number'
  return typeof told === 'object' && !Array.isArray(told)
}

/** No text, no number, no true, however deep. Zero counts: it may be measured. */
const isEmpty = (told: unknown): boolean => {
  if (told === null || told === undefined || told === '' || told === false || told === '-')
    return true
  return typeof told === 'object' && Object.values(told).every(isEmpty)
}
