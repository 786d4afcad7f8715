import { NameTable } from './name-table.ts'

const enterprises = new NameTable('enterprises.tsv')

/** Enterprises whose registered name is not the one that people know them by. */
const COMMON_NAMES: Readonly<Record<number, string>> = {
  9: 'Cisco',
  11: 'HP',
  63: 'Apple',
  318: 'APC',
  789: 'NetApp',
  1248: 'Epson',
  5951: 'Citrix',
  8072: 'Net-SNMP',
  10002: 'Ubiquiti',
  14823: 'Aruba',
  29671: 'Meraki',
  47196: 'HPE Aruba',
}

/** Organisation by its private enterprise number (IANA, Private Enterprise Numbers). */
export const findEnterpriseName = (number: number | null): string | null =>
  number === null ? null : (COMMON_NAMES[number] ?? enterprises.find(`${number}`) ?? null)
