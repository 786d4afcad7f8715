import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** Names of companies and services by their numbers (Bluetooth SIG, "Assigned Numbers"). */
export interface AssignedNames {
  companyOf(id: number): string | null
  serviceOf(uuid: string): string | null
}

/** Services that members have numbers for; the library knows only those of the specification. */
const MEMBER_SERVICES: Readonly<Record<string, string>> = {
  fcd2: 'BTHome',
  fd6f: 'Exposure Notification',
  fe2c: 'Google Fast Pair',
  fe9f: 'Google',
  feaa: 'Eddystone',
  fef3: 'Google Nearby',
  fff6: 'Matter',
}

/** Loads the tables of the libraries, once for a scan. */
export const loadAssignedNames = (): AssignedNames => {
  const companies = load<Record<number, string>>('systeminformation/lib/bluetoothVendors.js')
  const services = load<Record<string, { name: string }>>('@abandonware/noble/lib/services.json')
  return {
    companyOf: id => companies[id]?.slice(0, 128) ?? null,
    serviceOf: uuid =>
      (MEMBER_SERVICES[uuid] ?? services[uuid]?.name ?? null)?.slice(0, 64) ?? null,
  }
}

/** A table that is not there costs names, not the scan. */
const load = <T extends object>(path: string): T => {
  try {
    return require(path) as T
  } catch {
    return {} as T
  }
}
