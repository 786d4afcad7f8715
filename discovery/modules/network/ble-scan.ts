import * as z from 'zod'
import { defineScan } from '../../module.ts'
import type { Sighting, SightingFacts } from '../../sighting.ts'

const Eddystone = z.strictObject({
  frame: z.enum(['uid', 'url', 'tlm', 'eid', 'other']),
  namespace: z.string().max(20).nullable().describe('Hex digits; only of frame `uid`.'),
  instance: z.string().max(12).nullable().describe('Hex digits; only of frame `uid`.'),
  url: z.string().max(256).nullable().describe('Only of frame `url`.'),
  battery_mv: z.int().nullable().describe('Only of frame `tlm`.'),
  temperature_c: z.number().nullable().describe('Only of frame `tlm`.'),
  uptime_s: z.number().nullable().describe('Only of frame `tlm`.'),
})

const BtHome = z.strictObject({
  version: z.int(),
  is_encrypted: z.boolean().describe('Measurements of an encrypted device stay unknown.'),
  measurements: z
    .record(z.string().max(40), z.union([z.number(), z.boolean()]))
    .describe('Readings by name and unit: `temperature_c`, `humidity_percent`, `motion`.'),
})

export const BleRow = z.strictObject({
  address: z.string().max(17),
  address_kind: z
    .enum(['public', 'static', 'resolvable', 'non_resolvable', 'unknown'])
    .describe('Only a public address identifies a device; the others are random.'),
  name: z.string().max(248).nullable(),
  rssi_dbm: z.int().min(-128).max(20).nullable().describe('Strongest of the scan.'),
  tx_power_dbm: z.int().min(-128).max(127).nullable(),
  is_connectable: z.boolean().nullable(),
  advertisements: z.int().positive().describe('Number of advertisements in the scan.'),
  company_id: z.int().min(0).max(65_535).nullable().describe('Of the manufacturer data.'),
  company: z.string().max(128).nullable(),
  services: z
    .array(
      z.strictObject({
        uuid: z.string().max(36).describe('Four hex digits for an assigned number.'),
        name: z.string().max(64).nullable(),
      }),
    )
    .max(32),
  ibeacon: z
    .strictObject({
      uuid: z.string().max(36),
      major: z.int(),
      minor: z.int(),
      power_at_1m_dbm: z.int(),
    })
    .nullable(),
  eddystone: z.array(Eddystone).max(5).describe('One entry for each kind of frame.'),
  bthome: BtHome.nullable(),
  battery_percent: z.number().nullable(),
  protocols: z
    .array(z.enum(['ibeacon', 'eddystone', 'bthome', 'find_my', 'swift_pair', 'fast_pair']))
    .max(6),
  is_simulated: z.boolean().describe('It was received by an emulated controller.'),
})
type Row = z.infer<typeof BleRow>

/** A device that advertises is heard again within seconds. */
const TTL_SECONDS = 300

export default defineScan({
  id: 'ble-scan',
  name: 'Bluetooth scan',
  description: 'List the Bluetooth Low Energy devices that the cell receives, decoded.',
  tags: ['network', 'radio', 'bluetooth', 'ble'],
  access: 'operator',
  reach: 'radio',
  input: z.strictObject({
    timeout: z.int().min(1).max(60).default(5).describe('Time for which it listens, in seconds.'),
  }),
  examples: [{}, { timeout: 15 }],
  deadlineSeconds: 80,
  row: BleRow,
  observe: row => listSightings(row),
})

/** A random address names nothing: it changes, so a sighting without a key would match nobody. */
const listSightings = (row: Row): Sighting[] => {
  if (row.address_kind !== 'public' || row.is_simulated) return []
  return [
    {
      keys: [{ kind: 'ble_public_address', value: row.address }],
      facts: factsOf(row),
      ttl_seconds: TTL_SECONDS,
    },
  ]
}

const factsOf = (row: Row): SightingFacts => ({
  ...(row.name !== null && row.name !== '' && { name: row.name }),
  ...(row.company !== null && { vendor: row.company }),
  ...(row.rssi_dbm !== null && { signal_dbm: row.rssi_dbm }),
  ...(row.battery_percent !== null && { battery_percent: row.battery_percent }),
  claimed_types: ['ble_device', ...row.protocols],
})
