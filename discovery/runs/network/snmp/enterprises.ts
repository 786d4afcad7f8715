/** Makers by their private enterprise number (IANA, Private Enterprise Numbers). */
const ENTERPRISES: Readonly<Record<number, string>> = {
  2: 'IBM',
  9: 'Cisco',
  11: 'HP',
  43: '3Com',
  63: 'Apple',
  171: 'D-Link',
  207: 'Allied Telesis',
  253: 'Xerox',
  311: 'Microsoft',
  318: 'APC',
  343: 'Intel',
  367: 'Ricoh',
  476: 'Vertiv',
  534: 'Eaton',
  641: 'Lexmark',
  674: 'Dell',
  789: 'NetApp',
  890: 'Zyxel',
  1248: 'Epson',
  1347: 'Kyocera',
  1588: 'Brocade',
  1602: 'Canon',
  1916: 'Extreme Networks',
  1991: 'Foundry',
  2011: 'Huawei',
  2435: 'Brother',
  2620: 'Check Point',
  2636: 'Juniper',
  3375: 'F5',
  3808: 'CyberPower',
  4413: 'Broadcom',
  4526: 'Netgear',
  5951: 'Citrix',
  6574: 'Synology',
  6876: 'VMware',
  8072: 'Net-SNMP',
  8691: 'Moxa',
  9303: 'PacketFront',
  10002: 'Ubiquiti',
  10876: 'Supermicro',
  11863: 'TP-Link',
  12356: 'Fortinet',
  13742: 'Raritan',
  14179: 'Airespace',
  14823: 'Aruba',
  14988: 'MikroTik',
  18334: 'Konica Minolta',
  24681: 'QNAP',
  25461: 'Palo Alto Networks',
  25506: 'H3C',
  29671: 'Meraki',
  30065: 'Arista',
  41112: 'Ubiquiti',
  47196: 'HPE Aruba',
}

export const enterpriseName = (number: number | null): string | null =>
  number === null ? null : (ENTERPRISES[number] ?? null)

/** Enterprise of a sysObjectID below 1.3.6.1.4.1. */
export const enterpriseOf = (objectId: string | null): number | null => {
  const [, digits] = /^1\.3\.6\.1\.4\.1\.(\d{1,9})(?:\.|$)/.exec(objectId ?? '') ?? []
  return digits === undefined ? null : Number(digits)
}

interface EngineFacts {
  vendor: string | null
  mac: string | null
}

const FORMAT_MAC = 3

/** What an engine id says without credentials: its maker and, in one format, a MAC address (RFC 3411, 5). */
export const readEngineId = (engineId: string | null): EngineFacts => {
  if (engineId === null) return { vendor: null, mac: null }
  const bytes = Buffer.from(engineId, 'hex')
  const isNewForm = ((bytes[0] ?? 0) & 0x80) !== 0
  const mac =
    isNewForm && bytes[4] === FORMAT_MAC && bytes.length === 11
      ? bytes.toString('hex', 5).match(/../g)
      : null
  return {
    vendor: enterpriseName(bytes.readUInt32BE(0) & 0x7fffffff),
    mac: mac?.join(':') ?? null,
  }
}
