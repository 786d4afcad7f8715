import type { SnmpSession } from './session.ts'
import { readNumber, readText, readUnsigned } from './values.ts'
import { walkTable } from './walk.ts'

/** HOST-RESOURCES-MIB (RFC 2790): hrStorageTable, hrProcessorTable, hrDeviceTable. */
const STORAGE_ENTRY = '1.3.6.1.2.1.25.2.3.1'
const PROCESSOR_ENTRY = '1.3.6.1.2.1.25.3.3.1'
const DEVICE_ENTRY = '1.3.6.1.2.1.25.3.2.1'
const STORAGE_RAM = '1.3.6.1.2.1.25.2.1.2'
const DEVICE_PRINTER = '1.3.6.1.2.1.25.3.1.5'
const MAX_STORAGE = 64
const MAX_PROCESSORS = 512
const MAX_DEVICES = 64
const TEXT = 64

/** Processors and main memory of the machine; null where the agent has no HOST-RESOURCES-MIB. */
export const readHostResources = async (session: SnmpSession) => {
  const processors = await walkTable(session, {
    entry: PROCESSOR_ENTRY,
    // an agent that has just started lists its processors before it knows their load
    columns: [1, 2],
    maxRows: MAX_PROCESSORS,
  })
  const storage = await walkTable(session, {
    entry: STORAGE_ENTRY,
    columns: [2, 4, 5, 6],
    maxRows: MAX_STORAGE,
  })
  const ram = [...storage.rows.values()].find(row => row.get(2) === STORAGE_RAM)
  const loads = [...processors.rows.values()].flatMap(row => readNumber(row.get(2)) ?? [])
  const unit = readUnsigned(ram?.get(4))
  const toBytes = (units: number | null): number | null =>
    units === null || unit === null ? null : units * unit
  const resources = {
    processors: processors.rows.size || null,
    cpu_percent: meanOf(loads),
    memory_bytes: toBytes(readUnsigned(ram?.get(5))),
    memory_used_bytes: toBytes(readUnsigned(ram?.get(6))),
  }
  const isEmpty = Object.values(resources).every(value => value === null)
  // a long table of disks does not matter here
  return { resources: isEmpty ? null : resources, isTruncated: processors.isTruncated }
}

const meanOf = (loads: readonly number[]): number | null => {
  if (loads.length === 0) return null
  const mean = loads.reduce((sum, load) => sum + load, 0) / loads.length
  return Math.min(100, Math.max(0, Math.round(mean * 10) / 10))
}

/** Printer-MIB (RFC 3805): prtGeneralTable, prtMarkerTable, prtMarkerSuppliesTable and colorants. */
const GENERAL_ENTRY = '1.3.6.1.2.1.43.5.1.1'
const MARKER_ENTRY = '1.3.6.1.2.1.43.10.2.1'
const SUPPLY_ENTRY = '1.3.6.1.2.1.43.11.1.1'
const COLORANT_ENTRY = '1.3.6.1.2.1.43.12.1.1'
const MAX_SUPPLIES = 32

/** PrtMarkerSuppliesClassTC of a container that fills up, such as one for waste toner. */
const RECEPTACLE = 4
/** PrtMarkerSuppliesTypeTC by number, from 1. */
const SUPPLY_TYPES = [
  ...['other', 'unknown', 'toner', 'waste_toner', 'ink', 'ink_cartridge', 'ink_ribbon'],
  ...['waste_ink', 'drum', 'developer', 'fuser_oil', 'solid_wax', 'ribbon_wax', 'waste_wax'],
  ...['fuser', 'corona_wire', 'fuser_oil_wick', 'cleaner', 'fuser_cleaning_pad', 'transfer'],
  ...['toner_cartridge', 'fuser_oiler'],
] as const

/** Model, serial number, pages and supplies of a printer; null for what is none. */
export const readPrinter = async (session: SnmpSession) => {
  const supplies = await walkTable(session, {
    entry: SUPPLY_ENTRY,
    columns: [3, 4, 5, 6, 8, 9],
    maxRows: MAX_SUPPLIES,
  })
  const markers = await walkTable(session, { entry: MARKER_ENTRY, columns: [4], maxRows: 1 })
  if (supplies.rows.size === 0 && markers.rows.size === 0)
    return { printer: null, isTruncated: false }
  const colorants = await walkTable(session, {
    entry: COLORANT_ENTRY,
    columns: [4],
    maxRows: MAX_SUPPLIES,
  })
  const general = await walkTable(session, { entry: GENERAL_ENTRY, columns: [17], maxRows: 1 })
  const [marker] = markers.rows.values()
  const [identity] = general.rows.values()
  const printer = {
    model: await readPrinterModel(session),
    serial: readText(identity?.get(17), TEXT),
    pages: readUnsigned(marker?.get(4)),
    supplies: [...supplies.rows].map(([index, row]) => {
      // the index is printer, number; a colorant has the same printer
      const [printerIndex = ''] = index.split('.')
      const colorant = colorants.rows.get(`${printerIndex}.${row.get(3)}`)
      return {
        type: SUPPLY_TYPES[(readNumber(row.get(5)) ?? 2) - 1] ?? 'other',
        description: readText(row.get(6), TEXT),
        colour: readText(colorant?.get(4), TEXT),
        is_receptacle: row.get(4) === RECEPTACLE,
        level_percent: toPercent(readNumber(row.get(9)), readNumber(row.get(8))),
      }
    }),
  }
  return { printer, isTruncated: supplies.isTruncated }
}

/** The device of the type printer says what it is. */
const readPrinterModel = async (session: SnmpSession): Promise<string | null> => {
  const columns = [2, 3]
  const { rows } = await walkTable(session, { entry: DEVICE_ENTRY, columns, maxRows: MAX_DEVICES })
  const printer = [...rows.values()].find(row => row.get(2) === DEVICE_PRINTER)
  return readText(printer?.get(3), TEXT)
}

/** Null for a level that is unknown (-2), without limit (-1) or only known to be more than none (-3). */
const toPercent = (level: number | null, capacity: number | null): number | null =>
  level === null || capacity === null || level < 0 || capacity <= 0
    ? null
    : Math.min(100, Math.round((level / capacity) * 100))
