import { NameTable } from './name-table.ts'

const companies = new NameTable('bluetooth-companies.tsv')
const services = new NameTable('bluetooth-services.tsv')

/** Services by the protocol that speaks on them, where the registered name is only that of a member. */
const PROTOCOLS: Readonly<Record<string, string>> = {
  fcd2: 'BTHome',
  fd6f: 'Exposure Notification',
  fe2c: 'Google Fast Pair',
  fe9f: 'Google',
  feaa: 'Eddystone',
  fef3: 'Google Nearby',
  fff6: 'Matter',
}

/** Company by its identifier in manufacturer data (Bluetooth SIG, Assigned Numbers, 7). */
export const findBluetoothCompany = (id: number): string | null =>
  companies.find(id.toString(16).padStart(4, '0')) ?? null

/** Service by its UUID, lower case; 16-bit ones have four digits (Assigned Numbers, 3.4 and 3.10). */
export const findBluetoothService = (uuid: string): string | null =>
  PROTOCOLS[uuid] ?? services.find(uuid)?.slice(0, 64) ?? null
