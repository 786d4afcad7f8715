import { createDeviceId } from '../../devices/device-id.ts'
import type { Announce } from '../../shared/wire/announce.ts'
import { CAPABILITY } from '../../shared/wire/capability.ts'
import type { DeviceFacts, DeviceProfileFacts } from '../../shared/wire/device.ts'

/** Facts of a rover, with some of its own. */
export const createDeviceFacts = (name: string, own: Partial<DeviceFacts> = {}): DeviceFacts => ({
  device_id: createDeviceId(name),
  name,
  profile: 'rover',
  site: 'north',
  available: true,
  reason: null,
  writable: true,
  envelope: { max_speed_m_s: 1 },
  ...own,
})

const createVerb = (verb: string, own: object) => ({
  verb,
  description: `The verb ${verb}.`,
  timeout_seconds: 30,
  params: {},
  idempotent: true,
  at_estop: 'hold' as const,
  ...own,
})

export const ROVER: DeviceProfileFacts = {
  profile: 'rover',
  title: 'Rover',
  kind: 'robot',
  link: 'sim',
  properties: {
    battery_percent: { title: 'Battery', type: 'number', unit: '%', stale_after_ms: 60_000 },
    mode: { title: 'Mode', type: 'text', stale_after_ms: 60_000 },
  },
  verbs: [
    createVerb('scan', { hazard: 'read' }),
    createVerb('light', { hazard: 'caution' }),
    createVerb('drive', { hazard: 'unsafe' }),
    createVerb('flash', { hazard: 'unsafe', gate: 'gate.device-command-critical' }),
    createVerb('stop', { hazard: 'safe', urgent: true }),
  ] as DeviceProfileFacts['verbs'],
}

/** Birth of a cell with these devices. */
export const announceDevices = (devices: DeviceFacts[], own: Partial<Announce> = {}): Announce => ({
  name: 'cell',
  version: '1',
  protocol: 1,
  capability: CAPABILITY,
  host: {
    hostname: 'cell',
    os: 'Linux',
    kernel: '6',
    arch: 'x64',
    cpu_model: 'cpu',
    cpu_count: 1,
    memory_total_bytes: 1,
  },
  gpus: [],
  engines: [],
  tags: [],
  device_profiles: [ROVER],
  devices,
  ...own,
})
