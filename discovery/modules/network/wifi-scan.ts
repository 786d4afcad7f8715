import * as z from 'zod'
import { defineScan } from '../../module.ts'
import { listMacKeys } from '../../net/mac-keys.ts'
import type { Sighting } from '../../sighting.ts'

const Security = z.enum(['open', 'wep', 'wpa', 'wpa2', 'wpa3', 'owe', 'enterprise', 'unknown'])

export const WifiRow = z.strictObject({
  bssid: z.string().max(17).describe('Address of the radio of the access point.'),
  ssid: z.string().max(64).nullable().describe('Name of the network; null when it is hidden.'),
  is_hidden: z.boolean(),
  interface: z.string().max(32).nullable().describe('Interface of the cell that received it.'),
  band: z.enum(['2.4_ghz', '5_ghz', '6_ghz', '60_ghz']).nullable(),
  frequency_mhz: z.int().positive().nullable(),
  channel: z.int().positive().nullable(),
  width_mhz: z.int().positive().nullable(),
  signal_dbm: z.number().nullable().describe('Estimated from `signal_percent` for nmcli.'),
  signal_percent: z.int().min(0).max(100).nullable(),
  security: Security.describe('Weakest mode that the network accepts.'),
  security_modes: z.array(Security).max(8).describe('Every mode that the network accepts.'),
  age_s: z
    .number()
    .nonnegative()
    .nullable()
    .describe('Time since it was last received, in seconds; null where nmcli does not report it.'),
  is_cached: z.boolean().describe('The result is of an earlier scan: a new one was refused.'),
  is_connected: z.boolean().describe('The cell is connected to it.'),
  is_twin_suspected: z
    .boolean()
    .describe(
      'Another vendor offers the same SSID with stronger security: it may be an evil twin.',
    ),
  source: z.enum(['nmcli', 'iw', 'node-wifi']).describe('Program or library that scanned.'),
})
type Row = z.infer<typeof WifiRow>

/** Beacons come ten times a second; an access point that left is in no scan after ten minutes. */
const TTL_SECONDS = 600

export default defineScan({
  id: 'wifi-scan',
  name: 'Wi-Fi scan',
  description: 'List the Wi-Fi networks that the cell receives, with their security and signal.',
  tags: ['network', 'radio', 'wifi'],
  access: 'operator',
  reach: 'radio',
  input: z.strictObject({}),
  examples: [{}],
  deadlineSeconds: 40,
  row: WifiRow,
  observe: row => [sightingOf(row)],
})

const sightingOf = (row: Row): Sighting => ({
  keys: listMacKeys([row.bssid]),
  facts: {
    ...(row.ssid !== null && { ssid: row.ssid, name: row.ssid }),
    ...(row.signal_dbm !== null && { signal_dbm: row.signal_dbm }),
    wifi_security: row.security,
    mac_addresses: [row.bssid],
    claimed_types: ['wifi_access_point'],
  },
  ttl_seconds: TTL_SECONDS,
})
