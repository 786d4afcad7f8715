import { formatBytes } from './print-number.ts'

const BYTES: Record<string, number> = { bytes: 1, 'bytes/s': 1, KiB: 1024, MiB: 1024 ** 2 }

/**
 * Copies a value for people: numbers in these fields, at any depth, become text such as `25.2 GiB`.
 * Unknown units are left as they are.
 */
export const formatUnits = (value: unknown, units: Readonly<Record<string, string>>): unknown => {
  if (Array.isArray(value)) return value.map(each => formatUnits(each, units))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, formatSize(inner, units, name)]),
  )
}

const formatSize = (
  value: unknown,
  units: Readonly<Record<string, string>>,
  name: string,
): unknown => {
  const unit = Object.hasOwn(units, name) ? (units[name] ?? '') : ''
  const bytes = Object.hasOwn(BYTES, unit) ? BYTES[unit] : undefined
  if (typeof value !== 'number' || bytes === undefined) return formatUnits(value, units)
  return `${formatBytes(value * bytes)}${unit.endsWith('/s') ? '/s' : ''}`
}
